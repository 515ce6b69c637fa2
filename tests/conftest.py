"""What all tests share: no test depends on how fast this machine is at the moment."""

from hypothesis import settings

settings.register_profile("hemiola", deadline=None, print_blob=True)
settings.load_profile("hemiola")
