"""Every constant of the solver, with its reason.

The certificate is checked in the end whatever they are: a bad figure costs steps and can leave a
bracket wide, but never wrong.
"""

# What counts as zero.

# Squared relative length below which y_x = z − c·x is zero: x cannot be confused with z.
NEGLIGIBLE = 1e-26
# A margin whose square underflows is zero.
SMALLEST_MARGIN = 1e-140
# A pivot of the Newton matrix below this share of its diagonal freezes its variable: equal arms
# or equal answers make the matrix singular.
NULL_PIVOT = 1e-15
# Rate of approach to the boundary below which a step cannot reach it; keeps a quotient finite.
NO_APPROACH = 1e-30

# The certificate.

# Allowance for rounding.
ROUNDING = 1e-13
# Share of the gap that the iteration aims at, so that the recheck stays within the whole.
AIM = 0.95

# The Newton matrix.

# Curvature q/c of an alternative that goes into the matrix. What exceeds it goes through the
# Schur complement, which keeps the matrix well conditioned near the optimum.
CURVATURE = 10.0
# Alternatives that may go there: in k variables hardly more than k bind, but more may seem to on
# the way. Others beyond that keep their curvature in the matrix.
ACTIVE_PER_ARM = 2
ACTIVE_SPARE = 10
# Columns of the matrix that are built together, and rows of its factor that are computed together
# (a multiple of four): what fits into the caches.
TILE = 128
PANEL = 16

# The steps.

# Steps of the fast mode, and of the safe mode that follows if it failed.
FAST_STEPS = 40
SAFE_STEPS = 150
# A slack is set to the true one where that exceeds this share of it: a smaller or negative one
# would throw the iterate to the boundary.
SLACK_LAG = 0.3
# Growth of the merit at which a step is shortened, the factor, and how often. Asking for a
# decrease makes the method fail more often.
MERIT_GROWTH = 10.0
SHORTENING = 0.4
SHORTENINGS = 3
# Share of the way to the boundary that a fast step goes: 1 − HASTE·(mean of w∘s and q∘c) within
# these limits, so that the last steps converge fast.
HASTE = 10.0
SHORTEST_WAY = 0.9
LONGEST_WAY = 0.9995
# The same share in safe mode, and the share of the mean that its steps centre at.
SAFE_WAY = 0.6
SAFE_CENTRING = 0.3

# Where the steps begin.

# Cold: least F, which is 1 on the boundary, and the largest load, which is 1 there as well.
COLD_DISTANCE = 1.3
COLD_LOAD = 0.7
# Relative gap down to which an iterate counts as centred enough to start again from it.
CENTRED_GAP = 1e-3
# Relative gap of a warm start above which a cold one is better; shares of that gap that its
# slacks and its products w∘s and q∘c get back.
WARM_GAP = 0.5
WARM_SLACK = 0.2
WARM_PRODUCT = 0.005

# Column generation.

# Work of a Newton step (in multiplications) up to which the whole problem is solved at once.
DENSE = 3e6
# By Carathéodory's theorem d(d+1)/2 arms and as many alternatives suffice at the optimum; room
# for SPARE·(d+1) more, which come and go.
SPARE = 16
# Multiplicative updates to begin with, the exponent of their soft minimum, and the share of the
# uniform weight that every arm keeps: all arms together may be just enough to span.
WARM_UP = 12
SOFTNESS = 8.0
KEPT_WEIGHT = 1e-4
# Tenths of d(d+1)/2 arms that are selected by their weight after the updates.
SUPPORT_TENTHS = 6
# Multiples of d: alternatives selected first, and each time; arms selected each time.
FIRST_ALTERNATIVES = 2
MORE_ALTERNATIVES = 1
MORE_ARMS = 2
# Selections that are solved at most.
GENERATIONS = 60
# Multiples of the gap by which a column is off to be dropped, and to be added.
OUTSIDE = 50.0
OVERLOOKED = 0.1
# Gaps between which these multiples count. Late dropouts would come back: their absence moves the
# solution by more than the gap.
LATE_GAP = 1e-3
EARLY_GAP = 1.0
# Gap to which the first selection is solved; later ones to this share of the whole problem's gap,
# but no further than to this share of what is asked for.
FIRST_GAP = 1e-2
INNER_PARTS = 30.0
INNER_SHARE = 0.2
