"""Prints the folder in which ``cudnn`` is wgrad's: PYTHONPATH=$(python -m wgrad.compat)."""

import pathlib

print(pathlib.Path(__file__).parent)
