import type { UsageLine } from './bill.ts';
import { familyOf, type ReconciledRow } from './reconcile.ts';

export interface Tokens {
  /** Includes cached input and cache writes. */
  input: number;
  output: number;
}

/** A row with both sides' token counts; null if unknown. */
export interface CountedRow extends ReconciledRow {
  ledger_tokens: Tokens | null;
  billed_tokens: Tokens | null;
  /** Why a row differs: in its token counts, or only in their price. */
  because: 'tokens' | 'price' | null;
}

/** Adds both sides' token counts. `billed` is undefined if the provider's usage report wasn't read. */
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

/** Matches by the row's model name, else by its family: one side may use an alias, the other a dated name. */
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
