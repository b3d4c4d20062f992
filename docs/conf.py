import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from jupyter_cache import get_cache
from latex2mathml.converter import convert
from sphinx.util.parallel import make_chunks

project = "Lockstep"
copyright = "2026, the Lockstep developers"
version = release = installed_version("lockstep-mcmc")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "jupyter_execute", ".jupyter_cache"]
html_theme = "furo"
html_title = f"Lockstep {release}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]

myst_enable_extensions = ["dollarmath", "deflist"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True  # what a cell prints is one block
nb_render_markdown_format = "myst"  # tables in what cells show

# Pages run each program once on a little data, and are compiled as most tests are.
sys.path[:0] = [str(Path(__file__).parents[1] / "tests"), str(Path(__file__).parent / "_jupyter")]
import compilation  # noqa: E402
import fork  # noqa: E402

compilation.choose()

# A program that several pages need is compiled once. Of two processes one may read what the other has not yet written
# to the end: it compiles for itself, and no page shows the warning.
PROGRAMS = Path(__file__).parent / ".jupyter_cache" / "programs"
os.environ["JAX_COMPILATION_CACHE_DIR"] = str(PROGRAMS)
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

UNSHOWN = ("IProgress not found", "Error reading persistent compilation cache")  # the first: of progress bars
os.environ["PYTHONWARNINGS"] = ",".join(f"ignore:{message}" for message in UNSHOWN)

# Formulas become MathML when the pages are built: they need neither a network nor a script.
html_math_renderer = "mathml"

# Docstrings are numpydoc; types stand in the signatures of the source and as words in the docstrings.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

# The documentation of Python and NumPy is not linked.
nitpick_ignore = [("py:class", "pathlib.Path"), ("py:class", "numpy.ndarray")]


def visit_math(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(self, node):
    self.body.append(f'<div class="math" style="overflow-x: auto">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


# Seconds that the longest pages take to execute.
SECONDS = {
    "tutorial": 52,
    "howto/state-space": 37,
    "howto/ergm": 52,
    "large-data": 26,
    "exactness": 24,
    "howto/nile": 25,
    "coming-from": 25,
    "howto/simulator": 23,
    "intractable": 33,
    "prediction": 19,
    "theory/separation-laws": 17,
    "warmup": 16,
    "theory/lagged": 14,
    "black_boxes": 13,
    "composing": 12,
    "howto/coupling": 11,
    "howto/importance": 10,
    "howto/particle-filter": 10,
    "howto/checking": 10,
}
SECONDS_OF_OTHERS = 7


def begin_cache(app):
    """Begin the cache of executed pages, before processes that would all begin it at the same time."""
    folder = app.outdir.parent / ".jupyter_cache"
    folder.mkdir(parents=True, exist_ok=True)
    get_cache(folder).db.dispose()


def begin_kernels(app, env, docnames):
    if docnames and sys.platform == "linux":  # elsewhere kernels are not forked, and begin as Jupyter begins them
        fork.begin()


def deal_out(app, env, docnames):
    """Processes read pages in rows of neighbours: deal the pages out to the first row of each, the longest first."""

    def seconds(name):
        is_executed = "{code-cell}" in env.doc2path(name).read_text(encoding="utf-8")
        return SECONDS.get(name, SECONDS_OF_OTHERS) if is_executed else 0

    rows = [([], len(chunk)) for chunk in make_chunks(docnames, app.parallel)]
    taken = [0] * min(app.parallel, len(rows))
    for name in sorted(docnames, key=seconds, reverse=True):
        with_room = [hand for hand in range(len(taken)) if len(rows[hand][0]) < rows[hand][1]]
        if with_room:
            hand = min(with_room, key=taken.__getitem__)
            taken[hand] += seconds(name)
            rows[hand][0].append(name)
        else:
            next(row for row, size in rows if len(row) < size).append(name)
    docnames[:] = [name for row, _ in rows for name in row]


def keep_colons(app, what, name, value, options, lines):
    """Attributes are described in sentences: what is before a colon is no type. Napoleon looks at the first line."""
    if what in ("attribute", "property", "data"):
        lines.insert(0, "\\ ")


TREES = {}  # by depth: links in them are relative


def share_tree(app, pagename, templatename, context, doctree):
    """Pages of source code stand nowhere in the tree of pages, which takes longer than the page: make it once."""
    if not pagename.startswith("_modules/"):
        return
    make, depth = context["toctree"], pagename.count("/")

    def shared(**settings):
        if depth not in TREES:
            TREES[depth] = make(**settings)
        return TREES[depth]

    context["toctree"] = shared


def setup(app):
    app.connect("builder-inited", begin_cache)
    app.connect("env-before-read-docs", begin_kernels)
    app.connect("env-before-read-docs", deal_out)
    app.connect("html-page-context", share_tree, priority=400)  # before furo asks for it
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # before napoleon looks
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
