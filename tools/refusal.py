"""What the converters raise."""


class Refused(Exception):
    """A file that is not what was expected; the message names it, what in it is wrong, and what to do."""
