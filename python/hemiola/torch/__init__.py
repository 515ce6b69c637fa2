"""The backend "hemiola" of torch.distributed.

`torch.distributed.init_process_group("hemiola")` needs no import of this where PyTorch loads entry points (from 2.5 on,
unless TORCH_DEVICE_BACKEND_AUTOLOAD=0); importing it makes the backend known, too. What differs from gloo is in
docs/torch.md."""

from hemiola.torch.options import Options
from hemiola_autoload import register

__all__ = ["Options"]

register()
