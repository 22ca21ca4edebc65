"""What people, shells and other programs hand in by mistake or on purpose."""

MANY_DIGITS = "9" * 400
MORE_DIGITS = "9" * 5000  # more than Python converts

NUMBERS = [
    *("0", "-1", "1", "-0.0", "0.5", "2", "1e-320", "1e400", "-1e400", "1e308", "-1e308", "5e-324"),
    *("nan", "inf", "-inf", "NaN", "1_0", "²", "١٢", "½", "٠.٥", "+1", " 1 ", "1,5", "0x10", "1e"),
    *("1e-9", "1e9", "1e16", "-1e-9", "0.05", "1.0000000000000002", "1e-170", "1e160"),
    *("", "x", "true", "None", "1" + "0" * 30, MANY_DIGITS, f"-{MANY_DIGITS}", MORE_DIGITS),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551616",
        "1-1",
        "1;2",
        "%",
        "--",
    ),
]

INTEGERS = [
    *(
        "0",
        "-1",
        "1",
        "2",
        "00",
        "+1",
        "-5",
        " 1",
        "1_0",
        "²",
        "١",
        "1.0",
        "1e3",
        "",
        "x",
        "-0",
        "0b1",
    ),
    *("9223372036854775807", "9223372036854775808", "4294967296", "18446744073709551616"),
    *("-9223372036854775809", "1" + "0" * 30, MANY_DIGITS, f"-{MANY_DIGITS}", MORE_DIGITS),
]

TEXTS = [
    *("", " ", "  \t ", "a", "A", "[/foo]", "[bold]x[/bold]", "[", "]", "[/]", "[red", "\\[x]"),
    *("\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "line\nfurthest: fake", "\r\n", "\x08\x7f", "a\tb"),
    *(
        "\udcff",
        "\udcff\udcfe.toml",
        "naïve",
        "名前",
        "\u202egnp.exe",
        "\u2028",
        "\ufeff",
        "👩‍🔬",
        "é",
    ),
    *("\x9b31m", "\x85", "x" * 300, "x" * 70_000, "'", '"', "`id`", "$(id)", "{arm}", "{", "{0.a}"),
    *(
        "%s",
        "%(a)s",
        "\\",
        "\\udcff",
        "a/b",
        "a:b",
        "a=b",
        "=",
        ",",
        ",,",
        ":",
        "://",
        "-",
        "--",
        "-x",
    ),
    *("--help", "--json", "None", "null", "true", "NaN", "; DROP TABLE furthest_events", "e" * 201),
]

PATHS = [
    *(
        "missing.toml",
        "missing/x.csv",
        "folder",
        "folder/",
        ".",
        "",
        " ",
        "file/x.csv",
        "file/x.png",
    ),
    *("x", "x.", ".csv", "x.CSV", "x.csv", "x.png", "x.PNG", "x.svg", "x.xyz", "x.json", "x.html"),
    *("x.parquet", "x.npz", "x.toml", "\udcff.csv", "\udcff.png", "\udcff.json", "\x1b[31m.svg"),
    *(
        "a\nb.png",
        "[/red].png",
        "[/red].json",
        "n" * 300 + ".csv",
        "d/" * 300 + "x.csv",
        "deep/er/x.csv",
    ),
    *("/dev/null/x.csv", "/proc/none/x.png", "/dev/null", "empty.json", "empty.csv", "damaged.npz"),
    *(
        "binary.toml",
        "binary.csv",
        "binary.json",
        "archive.json",
        "certificate.json",
        "results.csv",
    ),
    *("loop.toml", "loop.json", "folder.toml", "folder.json", "folder.csv"),
]

INSTANCES = [
    *(
        "hard:d=9999999999",
        "hard:d=1",
        "hard:d=",
        "hard:d",
        "hard:",
        "hard:,,",
        "hard:=",
        "hard:d=2,d=3",
    ),
    *("random:d=1,arms=2", "random:arms=1", "random:d=100000,arms=100000", "random:seed=-1"),
    *("random:seed=1e400", f"random:seed={MANY_DIGITS}", f"hard:d={MORE_DIGITS}", "random:r=nan"),
    *(
        "random:r=1e400",
        "hard:r=1e308",
        "hard:r=inf",
        "hard:arms=none",
        "hard:arms=\x1b[31m",
        "hard:d=²",
    ),
    *(
        "hard:d=1_0",
        "random:d=١",
        "circle:seed=x",
        "circle:d=2",
        "haard",
        "random:d=2,arms=2,seed=0",
    ),
    *(
        "random:r=-1",
        "hard:r=0",
        "hard:r=-5",
        "circle:seed=99999999999999999999",
        "hard:arms=basis",
    ),
]

STORAGES = [
    *(
        "",
        "x",
        "sqlite://",
        "sqlite:///",
        "sqlite:////",
        "sqlite:///missing/x.db",
        "sqlite:///folder",
    ),
    *(
        "sqlite:///new.db",
        "sqlite:///file",
        "sqlite:///binary.toml",
        "sqlite:////proc/x.db",
        "mysql://x",
    ),
    *("sqlite:///\udcff.db", "sqlite:///\x1b[31m.db", "sqlite:///a\nb/x.db", "sqlite:///:memory:"),
    *(
        "sqlite:///" + "n" * 300,
        "sqlite:///studies.db?mode=ro",
        "sqlite:///file/x.db",
        "SQLITE:///x.db",
    ),
    "postgresql:///x?host=%2Fnonexistent&connect_timeout=1",
    "postgresql://u:secret@/x?host=/nonexistent",
    "postgres://127.0.0.1:1/x?connect_timeout=1",
    "postgresql://[",
    "postgresql://u:p@:x/",
    "postgresql:///x?nonsense=1",
    "postgresql://\udcff/x?host=/nonexistent",
    "sqlite:///loop.json",
    "sqlite:///empty.json",
]

COMMANDS = [
    "true",
    "echo 1",
    "echo nan",
    "sleep 0",
    "'",
    '"',
    "",
    "   ",
    "false",
    "missing-program",
]
COMMANDS += [
    "echo 1e400",
    "echo 1_0",
    "echo {arm}",
    "echo {",
    "echo {x}",
    "echo '{name}'",
    "folder",
]
COMMANDS += ["echo \x1b[31m", "printf '\\377\\n'", "\udcff", "\x1b[31m", "echo ²", "\\", "./file"]
