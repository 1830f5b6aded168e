"""Where the steps of training are computed."""

import os

import torch

from evichain.errors import SettingsError

CPU = torch.device("cpu")


def device_named(name: str) -> torch.device:
    """The device with this name, such as `cuda`; each process of a machine takes its own GPU.

    >>> device_named("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        if device.type == "cuda" and device.index is None and torch.cuda.is_available():
            number = int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()
            device = torch.device("cuda", number)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
        raise SettingsError(
            f"cannot compute on {name!r} here ({str(error).splitlines()[0]})",
            where="device",
            right="Leave it out, or name one that PyTorch finds, such as cuda.",
        ) from error
    return device
