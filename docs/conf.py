from importlib.metadata import version as installed_version

project = "Lockstep"
copyright = "2026, the Lockstep developers"
version = release = installed_version("lockstep-mcmc")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build", "jupyter_execute"]
html_theme = "furo"
html_title = f"Lockstep {release}"

myst_enable_extensions = ["dollarmath", "deflist"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

# Docstrings are numpydoc; types stand in the signatures of the source and as words in the docstrings.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

# Python's own documentation is not linked.
nitpick_ignore = [("py:class", "pathlib.Path")]
