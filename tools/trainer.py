"""Shared by the trainers: an update of the weights, their running average, and the checkpoint from which an interrupted training
continues.
"""

import copy
import os

import torch
from torch import nn


class Trainer:
    """A model in training: its weights, their running average, the optimiser, and its progress. A subclass seeds its generators,
    builds the model and calls __init__(). When everything else is ready, it calls go_on(). It adds its own counters to `kept`, and
    extends state() and restore() for anything that is not a plain value.
    """

    kept = ("epoch", "steps")

    def __init__(self, model, optimiser, rng, average, clip, checkpoint=None, recipe=None):
        """average: the share of the running average that an update keeps; clip: limit on the gradient's norm; recipe: the settings
        that a checkpoint must match.
        """
        self.model, self.optimiser, self.rng = model, optimiser, rng
        self.average, self.keep, self.clip = copy.deepcopy(model).eval(), average, clip
        self.checkpoint, self.recipe = checkpoint, recipe
        self.epoch = self.steps = 0

    # --- updates

    def descend(self, loss, rate):
        """Update the weights once, with this learning rate."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimiser.step()
        self.steps += 1

    @torch.no_grad()
    def update_average(self):
        # In early steps the average follows the weights closely, so that it forgets their random initialisation.
        keep = min(self.keep, (1 + self.steps) / (10 + self.steps))
        for mean, now in zip(self.average.parameters(), self.model.parameters()):
            mean.lerp_(now, 1.0 - keep)

    # --- checkpoints

    def state(self):
        return {"recipe": self.recipe, "model": self.model.state_dict(), "average": self.average.state_dict(),
                "optimiser": self.optimiser.state_dict(), "rng": self.rng.getstate(), "torch_rng": torch.get_rng_state(),
                **{name: getattr(self, name) for name in self.kept}}

    def restore(self, state):
        for part in ("model", "average", "optimiser"):
            getattr(self, part).load_state_dict(state[part])
        self.rng.setstate(state["rng"])
        torch.set_rng_state(state["torch_rng"])
        for name in self.kept:
            setattr(self, name, state[name])

    def save(self):
        """Write the checkpoint. It is complete or not written: an interruption leaves the checkpoint before."""
        if not self.checkpoint:
            return
        os.makedirs(os.path.dirname(self.checkpoint) or ".", exist_ok=True)
        torch.save(self.state(), self.checkpoint + ".new")
        os.replace(self.checkpoint + ".new", self.checkpoint)

    def go_on(self):
        """Continue from the checkpoint, if there is one."""
        if not self.checkpoint or not os.path.exists(self.checkpoint):
            return
        state = torch.load(self.checkpoint)
        if state.get("recipe") != self.recipe:
            raise SystemExit(f"{self.checkpoint} was made with another recipe: remove it, or "
                             "name another folder with --checkpoints")
        self.restore(state)
