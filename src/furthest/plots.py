"""Pictures (extra: plot). One colour per strategy, everywhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from furthest.errors import MissingExtraError

# Okabe–Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#F0E442")

MEAN = {"marker": "*", "markersize": 12, "markerfacecolor": "black", "markeredgecolor": "white"}


def stopping_times(
    times: Mapping[str, Sequence[float]],
    path: Path,
    *,
    title: str,
    limits: Mapping[str, float] | None = None,
) -> None:
    """Box plots of stopping times (mean as a star), with limits as dashed lines."""
    plt = _pyplot()
    figure, axes = plt.subplots(figsize=(7.5, 1.4 + 0.62 * len(times)), layout="constrained")
    labels = list(times)
    values = [np.asarray(times[label], float) for label in labels]
    boxes = axes.boxplot(
        values,
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        tick_labels=labels,
        meanprops=MEAN,
        medianprops={"color": "black"},
    )
    for box, colour in zip(boxes["boxes"], COLOURS * len(labels), strict=False):
        box.set(facecolor=colour, alpha=0.75)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("measurements until the answer (box: quartiles, whiskers: 5–95 %, star: mean)")
    axes.set_title(title, loc="left", fontsize=11)
    for style, (label, value) in zip(("--", ":"), (limits or {}).items(), strict=False):
        text = f"{label} = {value:.0f}"
        axes.axvline(value, color="black", linestyle=style, linewidth=1.2, label=text)
    if limits:
        axes.legend(loc="upper right", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
