"""Other libraries' names for what wgrad does: ``wgrad.compat.cudnn``.

``python -m wgrad.compat`` prints this folder; in PYTHONPATH it lets ``import cudnn`` find us.
"""
