"""Draws panels of a dashboard as one SVG, readable on light and dark backgrounds."""
import dataclasses
import html
import math

WIDTH = 1200
UNIT_Y = 36          # pixels of one row of the dashboard's grid
TOP = 34             # of the page, for its title
MARGIN = 6
AXIS_LEFT = 58
LEGEND_ROW = 14
CHARACTER = 5.6      # average width in the legend, pixels
COLOURS = ["#3b82f6", "#e07a1f", "#2f9e44", "#c2389a", "#8a63d2", "#b8860b"]
STYLE = """
.page { fill: #ffffff } .panel { fill: none; stroke: #8c959f; stroke-opacity: .45 }
text { fill: #24292f; font: 10px sans-serif } .title { font: bold 12px sans-serif }
.head { font: bold 15px sans-serif } .grid { stroke: #8c959f; stroke-opacity: .25 }
polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #e6edf3 } }
"""


@dataclasses.dataclass
class Series:
    name: str
    instance: str
    expression: str
    points: list  # of (seconds, value)


@dataclasses.dataclass
class Panel:
    title: str
    unit: str
    grid: dict  # x, y, w, h of 24 columns
    series: list


def step_of(largest, unit):
    """The distance of lines on the value axis, about four of them."""
    base = 2 if unit == "bytes" else 10
    rough = largest / 4
    power = float(base) ** math.floor(math.log(rough, base))
    for factor in (1,) if base == 2 else (1, 2, 2.5, 5):
        if factor * power >= rough * 0.999:
            return factor * power
    return base * power


def text_of(value, unit):
    if value == 0:
        return "0"
    if unit == "bytes":
        names = ["B", "KiB", "MiB", "GiB", "TiB"]
        power = min(int(math.log(value, 1024)), len(names) - 1)
        return f"{value / 1024 ** power:g} {names[power]}"
    if unit == "s":
        return f"{value * 1000:g} ms" if value < 1 else f"{value:g} s"
    if unit in ("reqps", "cpm"):
        return f"{value:g}/{'s' if unit == 'reqps' else 'min'}"
    return f"{value:g}"


def label(x, y, text, anchor="start", kind=""):
    of_kind = f' class="{kind}"' if kind else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{of_kind}>'
            f"{html.escape(text)}</text>\n")


def pieces(points):
    """Without what is not a number, divided where samples are missing."""
    gap = 1.5 * min((b[0] - a[0] for a, b in zip(points, points[1:])), default=1)
    piece = []
    for at, value in points:
        if math.isfinite(value):
            if piece and at - piece[-1][0] > gap:
                yield piece
                piece = []
            piece.append((at, value))
    if piece:
        yield piece


class Plot:
    """The area of a panel with its two scales."""

    def __init__(self, panel, box, seconds, legend_rows):
        x, y, width, height = box
        self.left, self.right = x + AXIS_LEFT, x + width - 12
        self.top, self.bottom = y + 32, y + height - 26 - LEGEND_ROW * legend_rows
        self.unit, self.seconds = panel.unit, seconds
        values = [value for series in panel.series for _, value in series.points
                  if math.isfinite(value)]
        largest = max(values, default=0) or 1
        self.step = step_of(largest, panel.unit)
        self.most = self.step * math.ceil(largest / self.step * 0.999)

    def x_of(self, seconds):
        return self.left + (self.right - self.left) * seconds / self.seconds

    def y_of(self, value):
        return self.bottom - (self.bottom - self.top) * value / self.most

    def axes(self):
        out = ""
        for i in range(round(self.most / self.step) + 1):
            y = self.y_of(i * self.step)
            out += (f'<line class="grid" x1="{self.left:.1f}" x2="{self.right:.1f}" y1="{y:.1f}" '
                    f'y2="{y:.1f}"/>\n')
            out += label(self.left - 5, y + 3.5, text_of(i * self.step, self.unit), "end")
        every = 60 if self.seconds >= 120 else 10
        for at in range(0, int(self.seconds) + 1, every):
            text = f"{at // 60} min" if every == 60 else f"{at} s"
            out += label(self.x_of(at), self.bottom + 14, text, "middle")
        return out

    def line(self, points, style):
        if len(points) == 1:  # a sample alone is a short line
            points = [points[0], (points[0][0] + self.seconds / 200, points[0][1])]
        text = " ".join(f"{self.x_of(at):.1f},{self.y_of(value):.1f}" for at, value in points)
        return f'<polyline {style} points="{text}"/>\n'


def draw_panel(panel, seconds, instances):
    box = (panel.grid["x"] * WIDTH / 24 + MARGIN, TOP + panel.grid["y"] * UNIT_Y + MARGIN,
           panel.grid["w"] * WIDTH / 24 - 2 * MARGIN, panel.grid["h"] * UNIT_Y - 2 * MARGIN)
    x, y, width, height = box
    longest = max((len(series.name) for series in panel.series), default=1)
    columns = max(1, int((width - 20) / (longest * CHARACTER + 34)))
    plot = Plot(panel, box, seconds, math.ceil(len(panel.series) / columns))
    out = f'<rect class="panel" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>\n'
    out += label(x + 10, y + 18, panel.title, kind="title") + plot.axes()
    kinds = []  # what a series shows, without its instance: has one colour
    for i, series in enumerate(panel.series):
        kind = series.name.replace(series.instance, "").strip()
        if kind not in kinds:
            kinds.append(kind)
        dash = ' stroke-dasharray="5 3"' if instances.index(series.instance) % 2 == 1 else ""
        style = f'stroke="{COLOURS[kinds.index(kind) % len(COLOURS)]}"{dash}'
        out += f"<g><title>{html.escape(series.expression)}</title>\n"
        for piece in pieces(series.points):
            out += plot.line(piece, style)
        at_x = x + 10 + i % columns * (width - 20) / columns
        at_y = plot.bottom + 30 + i // columns * LEGEND_ROW
        out += f'<polyline {style} points="{at_x:.1f},{at_y - 3:.1f} {at_x + 22:.1f},{at_y - 3:.1f}"/>\n'
        out += label(at_x + 28, at_y, series.name) + "</g>\n"
    if not panel.series:
        out += label((plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2, "no data", "middle")
    return out


def draw(title, panels, seconds):
    height = TOP + UNIT_Y * max(p.grid["y"] + p.grid["h"] for p in panels) + MARGIN
    instances = sorted({series.instance for panel in panels for series in panel.series})
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">\n'
            f"<style>{STYLE}</style>\n"
            f'<rect class="page" width="{WIDTH}" height="{height}"/>\n'
            + label(MARGIN + 6, 24, title, kind="head")
            + "".join(draw_panel(panel, seconds, instances) for panel in panels) + "</svg>\n")
