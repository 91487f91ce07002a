"""The jobs that make the tables.

From the baseline on, a network goes through three steps, each a job of its own, so that shared steps are run once:
``tune`` trains with a method, ``cut`` prunes and recovers (a gradual pruning is one training with both), ``code``
quantizes and encodes. The rows of the paper have no recovery: they prune the network of ``tune``, cluster it, and write
npz. Every point of ``rivals`` and ``ours`` has had the same number of epochs since the baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.paper.jobs import AT_ONCE, Job
from benchmarks.paper.recipes import METHODS, OURS, Recipe, coders

LAMBDAS = (0.005, 0.01, 0.02, 0.03, 0.045)
STRONGEST = "CNET 0.045"
SMALL = ("CNET 0.002", "CNET 0.001")  # plain CNET, for networks where the paper's strengths cost more than half a point

SPARSITIES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HIGH = (0.9, 0.95, 0.96, 0.97, 0.98)
CLUSTERS = (256, 128, 64, 32, 16)
RIVAL_SPARSITIES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98)

NONE = {"name": "none"}
KMEANS = {"name": "kmeans", "clusters": [256]}
NPZ = {"name": "npz"}
COMPACT = {"name": "compact"}
COLUMN = {"name": "magnitude", "scope": "column"}
_ONE_SHOT = {"gradual": AT_ONCE}
AS_IT_IS = {"epochs": 0, "centroid_epochs": 0, "reestimate_batch_norm": False}


@dataclass(frozen=True)
class Settings:
    """The settings of a study.

    Attributes:
        epochs: epochs of each fine-tuning; a recovery has half as many, the baseline one and a half times as many.
        seeds: number of repetitions, with the seeds 0, 1, ...
        cuts: sparsities of rivals and ours, the most informative first.
        augment: augmentation of all trainings, as JSON.
        rate: learning rate of Adam at the start of all trainings.
    """

    epochs: int = 10
    seeds: int = 1
    cuts: tuple[float, ...] = (0.98, 0.95, 0.99, 0.97, 0.9, 0.995)
    augment: dict[str, Any] | None = None
    rate: float = 0.001

    @property
    def recovery(self) -> int:
        """Number of epochs of a recovery."""
        return max(1, self.epochs // 2)

    @property
    def baseline(self) -> int:
        """Number of epochs of the baseline."""
        return max(1, self.epochs * 3 // 2)

    def training(self, seed: int, epochs: int, *, constant: bool = False) -> dict[str, Any]:
        """The settings of a training, as JSON."""
        return {
            "epochs": epochs,
            "optimizer": {"name": "adam", "learning_rate": self.rate},
            "schedule": {"name": "constant" if constant else "cosine"},
            "augment": self.augment or {},
            "seed": seed,
        }


def jobs(settings: Settings) -> list[Job]:
    """All jobs, each after the job it starts from, the most informative first."""
    made: dict[str, Job] = {}
    for seed in range(settings.seeds):
        for job in _Seed(settings, seed).jobs():
            if made.setdefault(job.name, job) != job:
                raise ValueError(f"job {job.name}: two jobs have this name. Give the recipes different labels.")
    return list(made.values())


def chosen(jobs: Sequence[Job], parts: Sequence[str] | None) -> list[Job]:
    """The jobs whose name contains one of ``parts``, and those they start from; all jobs where ``parts`` is empty."""
    wanted: set[str | None] = set()
    for job in reversed(jobs):
        if not parts or job.name in wanted or any(part in job.name for part in parts):
            wanted |= {job.name, job.start}
    return [job for job in jobs if job.name in wanted]


@dataclass(frozen=True)
class _Seed:
    """The jobs of one seed. A job that several others start from is given several times."""

    settings: Settings
    seed: int

    def jobs(self) -> Iterator[Job]:
        """All jobs of the seed: first those of the paper's tables, then rivals and ours by sparsity."""
        yield self.baseline()
        yield from self.paper()
        for sparsity in self.settings.cuts:
            yield from self.cuts(sparsity)
        yield from self.other_tables()

    def baseline(self) -> Job:
        """The training of the network before compression."""
        spec = self._spec(0, NONE, COMPACT)
        training = self.settings.training(self.seed, self.settings.baseline)
        spec["baseline"] = {name: training[name] for name in ("epochs", "schedule")}
        return replace(self._job("base", "Original", None, spec), cost=self.settings.baseline)

    def tune(self, label: str) -> Job:
        """The fine-tuning with a method."""
        method = METHODS[label]
        constant = "ramp" in label  # a strength that grows until the end needs a learning rate that does not fall
        spec = self._spec(self.settings.epochs, NONE, COMPACT, method, constant=constant)
        return self._job(f"tune/{label}", label, self.baseline(), spec)

    def paper(self) -> Iterator[Job]:
        """The jobs of tables 1 to 6."""
        for label in (STRONGEST, *(f"CNET {value:g}" for value in LAMBDAS[:-1]), "Original"):
            start = self.baseline() if label == "Original" else self.tune(label)
            yield start
            yield self.one_shot("quantized", start, SPARSITIES[1:], KMEANS)
            yield self.one_shot("sparsity", start, SPARSITIES, NONE)
            if label == STRONGEST:
                yield self.one_shot("clusters", start, (0.9,), {"name": "kmeans", "clusters": list(CLUSTERS)})
        for label in SMALL:
            yield from (self.tune(label), self.one_shot("quantized", self.tune(label), SPARSITIES[1:], KMEANS))
        ramp = self.tune("CNET ramp")
        yield ramp
        yield self.one_shot("ramp", ramp, HIGH, KMEANS)
        yield self.one_shot("high", self.tune(STRONGEST), HIGH[1:], KMEANS)

    def other_tables(self) -> Iterator[Job]:
        """The jobs of table 7, apart from those of CNET, which are in the tables before."""
        for label in ("Targeted Dropout", "Targeted Dropout ramp", "Smallify"):
            start = self.tune(label)
            yield start
            yield self.one_shot("rivals-one-shot", start, RIVAL_SPARSITIES, NONE)

    def one_shot(self, group: str, start: Job, sparsities: tuple[float, ...], quantizer: dict[str, Any]) -> Job:
        """Points as in the paper: no training after pruning, batch norm not measured again, npz."""
        prune = COLUMN if start.label.startswith("Targeted Dropout") else {"name": "magnitude"}
        spec = self._spec(0, quantizer, NPZ)
        spec["prune"] = {**prune, "sparsity": list(sparsities), **_ONE_SHOT}
        return self._job(f"{group}/{start.label}", start.label, start, spec, group=group)

    def cuts(self, sparsity: float) -> Iterator[Job]:
        """The jobs of rivals and ours at one sparsity."""
        for recipe in OURS:
            if not recipe.only or sparsity in recipe.only:
                yield from self._made(recipe, sparsity)
        for recipe in Recipe.rivals():
            yield from self._made(recipe, sparsity)

    def _made(self, recipe: Recipe, sparsity: float) -> Iterator[Job]:
        """The training of a recipe, and all encodings of its network."""
        cut = self.cut(recipe, sparsity)
        yield from (self.tune(recipe.tune), cut) if recipe.tune else (cut,)
        for coder in coders(recipe):
            spec = self._spec(0, coder.quantize, coder.encode)  # the network is pruned already
            spec["recover"] = {"epochs": 0, "centroid_epochs": coder.epochs, **recipe.recover}
            if coder.calibrate is not None:
                spec["calibrate"] = coder.calibrate
            job = self._job(
                f"code/{recipe.label}/{sparsity:g}/{coder.name}",
                coder.label or recipe.label,
                cut,
                spec,
                group="ours" if recipe in OURS else "rivals",
            )
            yield replace(job, cost=1.5 * coder.epochs * coder.points)

    def cut(self, recipe: Recipe, sparsity: float) -> Job:
        """The pruning and recovery of a recipe."""
        start = self.tune(recipe.tune) if recipe.tune else self.baseline()
        gradual, recover = self._budget(recipe)
        spec = self._spec(0, NONE, COMPACT, recipe.method)
        spec["prune"] = {**recipe.prune, "sparsity": [sparsity], **_ONE_SHOT}
        if gradual:
            spec["prune"]["gradual"] = {"epochs": gradual, **recipe.rise}
        spec["recover"] = {"epochs": recover, "centroid_epochs": 0, **recipe.recover}
        return self._job(f"cut/{recipe.label}/{sparsity:g}", recipe.label, start, spec)

    def _budget(self, recipe: Recipe) -> tuple[int, int]:
        """Epochs of the gradual pruning and of the recovery; with the fine-tuning they are the same for all recipes."""
        epochs, recovery = self.settings.epochs, self.settings.recovery
        if recipe.gradual:
            return (epochs, recovery) if recipe.recovers else (epochs + recovery, 0)
        return (0, recovery) if recipe.tune else (0, epochs + recovery)

    def _spec(
        self,
        epochs: int,
        quantize: dict[str, Any],
        encode: dict[str, Any],
        method: dict[str, Any] = NONE,
        *,
        constant: bool = False,
    ) -> dict[str, Any]:
        return {
            "method": method,
            "training": self.settings.training(self.seed, epochs, constant=constant),
            "prune": {"name": "magnitude", "sparsity": [0.0], **_ONE_SHOT},
            "recover": AS_IT_IS,
            "quantize": quantize,
            "encode": encode,
        }

    def _job(self, name: str, label: str, start: Job | None, spec: dict[str, Any], *, group: str = "") -> Job:
        """One job. The epochs of its points are those of ``start`` plus its own, without those of the baseline."""
        own: int = spec["training"]["epochs"] + spec["recover"]["epochs"] + spec["recover"]["centroid_epochs"]
        own += spec["prune"].get("gradual", {}).get("epochs", 0)
        before, from_job = (start.epochs, start.name) if start else (0, None)
        return Job(f"{self.seed}/{name}", label, group, self.seed, from_job, spec, before + own, own)
