"""Compare products of two matrices in bfloat16 by heed's kernels with float32 by PyTorch, on one core.

    python bench/products.py [--size 2048,512,2048] [--rounds 30] [--json]

The three products of a linear layer, of m rows with k inputs and n outputs: forward, gradient of the input, gradient
of the weight. The bfloat16 side packs and rounds both matrices each time, as training does. Both sides take turns; the
best round counts.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch

from heed.kernels import bf16, bf16_ways
from heed.processor import name as processor_name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="2048,512,2048", metavar="M,K,N")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    m, k, n = map(int, args.size.split(","))
    if reason := bf16_ways.reason_not_here():
        raise SystemExit(f"nothing multiplies in bfloat16 {reason}")
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x_MK, weight_NK, grad_MN = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n)
    products: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "forward": (lambda: x_MK @ weight_NK.T, lambda: bf16.multiply(x_MK, bf16.pack(weight_NK.T))),
        "gradient of the input": (lambda: grad_MN @ weight_NK, lambda: bf16.multiply(grad_MN, bf16.pack(weight_NK))),
        "gradient of the weight": (lambda: grad_MN.T @ x_MK, lambda: bf16.multiply(grad_MN.T, bf16.pack(x_MK))),
    }
    found = {}
    for name, sides in products.items():
        best = [float("inf")] * len(sides)
        for _ in range(args.rounds):
            for i, side in enumerate(sides):
                began = time.perf_counter()
                side()
                best[i] = min(best[i], time.perf_counter() - began)
        float32, bfloat16 = (2 * m * k * n / seconds / 1e9 for seconds in best)
        found[name] = {"float32": float32, "bfloat16": bfloat16, "ratio": bfloat16 / float32}
    way = bf16_ways.chosen()
    if args.json:
        print(json.dumps({"processor": processor_name(), "way": way, "size": [m, k, n], "gflops": found}))
        return
    print(f"{m} x {k} x {n}, one core of {processor_name()}, bfloat16 with {way}; GFLOP/s\n")
    print(f"{'product':<24} {'float32':>9} {'bfloat16':>9} {'ratio':>6}")
    for name, one in found.items():
        print(f"{name:<24} {one['float32']:>9,.0f} {one['bfloat16']:>9,.0f} {one['ratio']:>6.2f}")


if __name__ == "__main__":
    main()
