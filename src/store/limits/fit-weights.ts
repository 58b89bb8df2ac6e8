/** Passes over the weights; a fit of ten weights is done after a few dozen. */
const MAX_PASSES = 2_000;
const PRECISION = 1e-9;
/** Keeps weights that the data does not tell apart from running away. */
const RIDGE = 1e-6;

/**
 * Non-negative least squares: weights for which `rows` times the weights come closest to `sums`, by coordinate descent on
 * the normal equations. Columns are scaled to the same size first.
 */
export function fitWeights(rows: readonly (readonly number[])[], sums: readonly number[]): number[] {
  const width = rows[0]?.length ?? 0;
  const sizes = Array.from({ length: width }, (_, i) =>
    Math.sqrt(rows.reduce((sum, row) => sum + at(row, i) ** 2, 0)),
  );
  const scaled = rows.map((row) => row.map((value, i) => (at(sizes, i) > 0 ? value / at(sizes, i) : 0)));
  const products = sizes.map((_, i) => sizes.map((_, j) => dot(scaled, i, (row) => at(row, j))));
  const targets = sizes.map((_, i) => dot(scaled, i, (_, k) => at(sums, k)));
  const weights = sizes.map(() => 0);
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let change = 0;
    for (let i = 0; i < width; i++) {
      if (at(sizes, i) === 0) continue;
      const line = products[i] ?? [];
      const others = weights.reduce((sum, weight, j) => (j === i ? sum : sum + at(line, j) * weight), 0);
      const next = Math.max(0, (at(targets, i) - others) / (at(line, i) + RIDGE));
      change = Math.max(change, Math.abs(next - at(weights, i)));
      weights[i] = next;
    }
    if (change < PRECISION * Math.max(1, ...weights)) break;
  }
  return weights.map((weight, i) => (at(sizes, i) > 0 ? weight / at(sizes, i) : 0));
}

const at = (values: readonly number[], i: number): number => values[i] ?? 0;

function dot(
  rows: readonly (readonly number[])[],
  i: number,
  other: (row: readonly number[], k: number) => number,
): number {
  return rows.reduce((sum, row, k) => sum + at(row, i) * other(row, k), 0);
}
