/* The LεBAI loop in plain C, as a yardstick for the compiled engine.
 *
 * The same algorithm and the same data layout as src/furthest: rank-one updates of V⁻¹, of V⁻¹·answers
 * and of the estimate, the stopping test with the instantaneous furthest answer at every round,
 * AdaHedge, C-tracking with forced exploration. Reads K d Z, c, e, then arms, answers and means;
 * prints nanoseconds per round (the best of several repetitions) and the pulls of the last one.
 * With a third argument, ln 1/delta, it makes REPEATS runs that stop at the paper's threshold, of at
 * most ROUNDS rounds each, and prints their mean number of rounds and how often each answer was given.
 *
 *     cc -O3 -march=native -ffast-math lebai.c -lm -o lebai && ./lebai ROUNDS REPEATS < instance
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int K, d, Z;
static double c, e;
static double *arms, *arm_columns, *answers, *answer_columns, *means;

/* --- random numbers: xoshiro256+ and Marsaglia & Tsang's ziggurat (256 layers) --- */
static uint64_t rng[4];
static double zig_x[257], zig_y[257];

static inline uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next_bits(void) {
    const uint64_t result = rng[0] + rng[3], t = rng[1] << 17;
    rng[2] ^= rng[0]; rng[3] ^= rng[1]; rng[1] ^= rng[2]; rng[0] ^= rng[3];
    rng[2] ^= t; rng[3] = rotl(rng[3], 45);
    return result;
}

static inline double uniform(void) { return (next_bits() >> 11) * 0x1.0p-53; }

static void seed(uint64_t s) {
    for (int i = 0; i < 4; i++) {
        s += 0x9e3779b97f4a7c15ull;
        uint64_t z = s;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        rng[i] = z ^ (z >> 31);
    }
    const double r = 3.6541528853610088, area = 0.00492867323399;
    zig_x[0] = area / exp(-0.5 * r * r); zig_x[1] = r; zig_x[256] = 0;
    for (int i = 2; i < 256; i++)
        zig_x[i] = sqrt(-2 * log(exp(-0.5 * zig_x[i - 1] * zig_x[i - 1]) + area / zig_x[i - 1]));
    for (int i = 0; i < 257; i++) zig_y[i] = exp(-0.5 * zig_x[i] * zig_x[i]);
}

static double normal(void) {
    for (;;) {
        const uint64_t bits = next_bits();
        const int i = bits & 255;
        const double u = 2.0 * ((bits >> 11) * 0x1.0p-53) - 1.0, x = u * zig_x[i];
        if (fabs(x) < zig_x[i + 1]) return x;
        if (i == 0) {
            double a, b;
            do { a = -log(1 - uniform()) / zig_x[1]; b = -log(1 - uniform()); } while (2 * b < a * a);
            return u < 0 ? -zig_x[1] - a : zig_x[1] + a;
        }
        if (zig_y[i] + uniform() * (zig_y[i + 1] - zig_y[i]) < exp(-0.5 * x * x)) return x;
    }
}

/* --- state of one run --- */
static double *V, *inverse, *estimate, *values, *projected, *widths, *sums, *norms;
static double *step, *along, *across, *factor, *columns, *direction, *losses, *played, *weights, *gains, *cumulative;
static double gap;
static long t, *counts;

static void cholesky(double *m) {
    for (int j = 0; j < d; j++) {
        double pivot = m[j * d + j];
        for (int k = 0; k < j; k++) pivot -= m[j * d + k] * m[j * d + k];
        const double root = sqrt(pivot), inv = 1 / root;
        m[j * d + j] = root;
        for (int i = j + 1; i < d; i++) {
            double s = m[i * d + j];
            for (int k = 0; k < j; k++) s -= m[i * d + k] * m[j * d + k];
            m[i * d + j] = s * inv;
        }
    }
}

static void solve_lower_many(const double *L, double *x, int m) {
    for (int i = 0; i < d; i++) {
        for (int k = 0; k < i; k++)
            for (int j = 0; j < m; j++) x[i * m + j] -= L[i * d + k] * x[k * m + j];
        const double inv = 1 / L[i * d + i];
        for (int j = 0; j < m; j++) x[i * m + j] *= inv;
    }
}

static void solve_upper_many(const double *L, double *x, int m) {
    for (int i = d - 1; i >= 0; i--) {
        for (int k = i + 1; k < d; k++)
            for (int j = 0; j < m; j++) x[i * m + j] -= L[k * d + i] * x[k * m + j];
        const double inv = 1 / L[i * d + i];
        for (int j = 0; j < m; j++) x[i * m + j] *= inv;
    }
}

static void information(const double *w, double *out) {
    for (int i = 0; i < d * d; i++) out[i] = 0;
    for (int a = 0; a < K; a++)
        for (int i = 0; i < d; i++) {
            const double s = w[a] * arms[a * d + i];
            for (int j = 0; j <= i; j++) out[i * d + j] += s * arms[a * d + j];
        }
}

static void recompute(void) {
    for (int a = 0; a < K; a++) across[a] = counts[a];
    information(across, V);
    for (int i = 0; i < d; i++) for (int j = 0; j < i; j++) V[j * d + i] = V[i * d + j];
    memcpy(factor, V, sizeof(double) * d * d);
    cholesky(factor);
    for (int i = 0; i < d * d; i++) inverse[i] = i % (d + 1) == 0;
    solve_lower_many(factor, inverse, d); solve_upper_many(factor, inverse, d);
    memcpy(projected, answer_columns, sizeof(double) * d * Z);
    solve_lower_many(factor, projected, Z); solve_upper_many(factor, projected, Z);
    for (int i = 0; i < d; i++) step[i] = 0;
    for (int a = 0; a < K; a++) for (int i = 0; i < d; i++) step[i] += sums[a] * arms[a * d + i];
    for (int i = 0; i < d; i++) {
        estimate[i] = 0;
        for (int j = 0; j < d; j++) estimate[i] += inverse[i * d + j] * step[j];
    }
    for (int z = 0; z < Z; z++) {
        values[z] = 0;
        for (int i = 0; i < d; i++) values[z] += answers[z * d + i] * estimate[i];
    }
    for (int a = 0; a < K; a++) {
        widths[a] = 0;
        for (int i = 0; i < d; i++) for (int j = 0; j < d; j++)
            widths[a] += arms[a * d + i] * inverse[i * d + j] * arms[a * d + j];
    }
}

static void record(int arm, double reward) {
    t++; counts[arm]++; sums[arm] += reward;
    if (t < K) return;
    if (t == K || t % 256 == 0) { recompute(); return; }
    const double *a = arms + arm * d;
    double quad = 0, predicted = 0;
    for (int i = 0; i < d; i++) {
        double s = 0;
        for (int j = 0; j < d; j++) s += inverse[i * d + j] * a[j];
        step[i] = s; quad += a[i] * s; predicted += a[i] * estimate[i];
    }
    const double shrink = 1 / (1 + quad), surprise = shrink * (reward - predicted);
    for (int i = 0; i < d; i++) {
        const double s = shrink * step[i];
        estimate[i] += surprise * step[i];
        for (int j = 0; j < d; j++) { inverse[i * d + j] -= s * step[j]; V[i * d + j] += a[i] * a[j]; }
    }
    for (int z = 0; z < Z; z++) along[z] = 0;
    for (int i = 0; i < d; i++) for (int z = 0; z < Z; z++) along[z] += step[i] * answer_columns[i * Z + z];
    for (int z = 0; z < Z; z++) values[z] += surprise * along[z];
    for (int i = 0; i < d; i++) {
        const double s = shrink * step[i];
        for (int z = 0; z < Z; z++) projected[i * Z + z] -= s * along[z];
    }
    for (int b = 0; b < K; b++) across[b] = 0;
    for (int i = 0; i < d; i++) for (int b = 0; b < K; b++) across[b] += step[i] * arm_columns[i * K + b];
    for (int b = 0; b < K; b++) widths[b] -= shrink * across[b] * across[b];
}

static void contrast_norms(const double *col, const double *dual, int z) {
    for (int x = 0; x < Z; x++) norms[x] = 0;
    for (int i = 0; i < d; i++) {
        const double zi = col[i * Z + z], pi = dual[i * Z + z];
        for (int x = 0; x < Z; x++) norms[x] += (zi - c * col[i * Z + x]) * (pi - c * dual[i * Z + x]);
    }
}

static double nearest(int z, double limit, int *where) {
    double best = INFINITY;
    *where = -1;
    for (int x = 0; x < Z; x++) {
        if (x == z || !(norms[x] > 1e-24)) continue;
        const double n = values[z] - c * values[x] + e;
        if (n <= 0) { *where = x; return 0; }
        const double distance = n * n / norms[x];
        if (distance < best) { best = distance; *where = x; if (best < limit) return best; }
    }
    return best;
}

static int furthest(double *glr) {
    int greedy = 0, where;
    for (int z = 1; z < Z; z++) if (values[z] > values[greedy]) greedy = z;
    int answer = greedy;
    contrast_norms(answer_columns, projected, greedy);
    double best = nearest(greedy, -1, &where);
    for (int z = 0; z < Z; z++)
        if (z != greedy && values[z] - c * values[greedy] + e >= 0) {
            contrast_norms(answer_columns, projected, z);
            const double distance = nearest(z, best, &where);
            if (distance > best) { best = distance; answer = z; }
        }
    *glr = best;
    return answer;
}

static int choose(int answer) {
    const double s = t + 1, share = 1 / s, log_round = log(s);
    double total = 0;
    if (gap > 0) {
        const double rate = log(K) / gap;
        for (int a = 0; a < K; a++) { played[a] = exp(-rate * losses[a]); total += played[a]; }
    } else
        for (int a = 0; a < K; a++) { played[a] = losses[a] <= 0; total += played[a]; }
    for (int a = 0; a < K; a++) {
        played[a] /= total;
        weights[a] = share / K + (1 - share) * played[a];
    }
    information(weights, factor);
    cholesky(factor);
    memcpy(columns, answer_columns, sizeof(double) * d * Z);
    solve_lower_many(factor, columns, Z);
    contrast_norms(columns, columns, answer);
    int x;
    double reach = 0;
    const double distance = nearest(answer, -1, &x);
    for (int i = 0; i < d; i++) direction[i] = 0;
    if (x >= 0 && distance > 0) {
        for (int i = 0; i < d; i++) direction[i] = columns[i * Z + answer] - c * columns[i * Z + x];
        for (int i = d - 1; i >= 0; i--) {
            double v = direction[i];
            for (int k = i + 1; k < d; k++) v -= factor[k * d + i] * direction[k];
            direction[i] = v / factor[i * d + i];
        }
        reach = (values[answer] - c * values[x] + e) / norms[x];
    }
    for (int a = 0; a < K; a++) gains[a] = 0;
    for (int i = 0; i < d; i++) for (int a = 0; a < K; a++) gains[a] += direction[i] * arm_columns[i * K + a];
    double mean = 0, largest = -1;
    for (int a = 0; a < K; a++) {
        const double u = reach * fabs(gains[a]) + sqrt(2 * log_round * widths[a]);
        gains[a] = (1 - share) * fmin(u * u, log_round);
        cumulative[a] += weights[a];
        if (played[a] > 0) { mean += played[a] * gains[a]; largest = fmax(largest, gains[a]); }
    }
    double mix = largest;
    if (gap > 0) {
        const double rate = log(K) / gap;
        double sum = 0;
        for (int a = 0; a < K; a++) sum += played[a] * exp(rate * (gains[a] - largest));
        mix = largest + log(sum) / rate;
    }
    gap += fmax(0, mix - mean);
    double least = INFINITY;
    for (int a = 0; a < K; a++) { losses[a] -= gains[a]; least = fmin(least, losses[a]); }
    int arm = 0;
    double behind = INFINITY;
    for (int a = 0; a < K; a++) {
        losses[a] -= least;
        const double lead = counts[a] - cumulative[a];
        if (lead < behind - 1e-9) { behind = lead; arm = a; }
    }
    return arm;
}

static void start(void) {
    t = 0; gap = 0;
    for (int a = 0; a < K; a++) { counts[a] = 0; sums[a] = losses[a] = 0; cumulative[a] = 1; }
}

static double *array(long n) { return calloc(n, sizeof(double)); }

static double *read_array(long n) {
    double *x = array(n);
    for (long i = 0; i < n; i++) if (scanf("%lf", x + i) != 1) exit(2);
    return x;
}

static void whole_runs(long rounds, long runs, double level) {
    long *given = calloc(Z, sizeof(long)), steps = 0;
    for (long r = 0; r < runs; r++) {
        seed(r + 1);
        start();
        int answer = 0;
        while (t < rounds) {
            int arm = (int)t;
            if (t >= K) {
                double glr;
                answer = furthest(&glr);
                if (glr > 2 * (2 * d * log(4 + log((double)t / d)) + level)) break;
                arm = choose(answer);
            }
            record(arm, means[arm] + normal());
        }
        steps += t;
        given[answer]++;
    }
    printf("%.3f", (double)steps / runs);
    for (int z = 0; z < Z; z++) printf(" %ld", given[z]);
    printf("\n");
}

int main(int argc, char **argv) {
    const long rounds = argc > 1 ? atol(argv[1]) : 100000, repeats = argc > 2 ? atol(argv[2]) : 3;
    if (scanf("%d %d %d %lf %lf", &K, &d, &Z, &c, &e) != 5) return 2;
    arms = read_array(K * d); answers = read_array(Z * d); means = read_array(K);
    arm_columns = array(d * K); answer_columns = array(d * Z);
    for (int a = 0; a < K; a++) for (int i = 0; i < d; i++) arm_columns[i * K + a] = arms[a * d + i];
    for (int z = 0; z < Z; z++) for (int i = 0; i < d; i++) answer_columns[i * Z + z] = answers[z * d + i];
    V = array(d * d); inverse = array(d * d); factor = array(d * d); estimate = array(d);
    step = array(d); direction = array(d); values = array(Z); norms = array(Z); along = array(Z);
    projected = array(d * Z); columns = array(d * Z); widths = array(K); sums = array(K);
    across = array(K); losses = array(K); played = array(K); weights = array(K); gains = array(K);
    cumulative = array(K); counts = calloc(K, sizeof(long));
    if (argc > 3) { whole_runs(rounds, repeats, atof(argv[3])); return 0; }
    double best = INFINITY;
    long stops = 0;
    for (long r = 0; r < repeats; r++) {
        seed(r + 1);
        start();
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        while (t < rounds) {
            int arm = (int)t;
            if (t >= K) {
                double glr;
                const int answer = furthest(&glr);
                stops += glr > 4 * log(4 + log(t / 2.0)) + 1e9;
                arm = choose(answer);
            }
            record(arm, means[arm] + normal());
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        best = fmin(best, (to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec));
    }
    printf("%.3f %ld", best / rounds, stops);
    for (int a = 0; a < K; a++) printf(" %ld", counts[a]);
    printf("\n");
    return 0;
}
