"""One file a figure: what it is called, what to see in it, and how it is drawn."""
