import type { UsageLine } from './bill.ts';
import { familyOf, type ReconciledRow } from './reconcile.ts';

export interface Tokens {
  /** Cached input and cache writes included. */
  input: number;
  output: number;
}

/** A row with what either side counted; null where it isn't known. */
export interface CountedRow extends ReconciledRow {
  ledger_tokens: Tokens | null;
  billed_tokens: Tokens | null;
  /** Why a row differs: the counts do, or only what they cost. */
  because: 'tokens' | 'price' | null;
}

/** Adds the tokens of both sides. `billed` is undefined where the provider's usage report wasn't read. */
export function withTokens(
  rows: readonly ReconciledRow[],
  ledger: readonly UsageLine[],
  billed: readonly UsageLine[] | undefined,
): CountedRow[] {
  return rows.map((row) => {
    const [ledgerTokens, billedTokens] = [tokensOf(row, ledger), billed ? tokensOf(row, billed) : null];
    const because =
      row.state !== 'differs' || !ledgerTokens || !billedTokens
        ? null
        : ledgerTokens.input === billedTokens.input && ledgerTokens.output === billedTokens.output
          ? 'price'
          : 'tokens';
    return { ...row, ledger_tokens: ledgerTokens, billed_tokens: billedTokens, because };
  });
}

/** By the row's own name, else by its family: one side may use an alias, the other a dated name. */
function tokensOf({ day, model }: ReconciledRow, lines: readonly UsageLine[]): Tokens | null {
  const ofDay = lines.filter((line) => line.day === day);
  const same = ofDay.filter((line) => line.model === model);
  const found = same.length > 0 ? same : ofDay.filter((line) => familyOf(line.model) === familyOf(model));
  if (found.length === 0) return null;
  return found.reduce(
    (sum, line) => ({ input: sum.input + line.inputTokens, output: sum.output + line.outputTokens }),
    { input: 0, output: 0 },
  );
}
