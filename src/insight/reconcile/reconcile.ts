import { remembered } from '../../json/grouped.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { BillLine, UsageLine } from './reports.ts';

const STATES = ['agrees', 'differs', 'only_billed', 'only_booked'] as const;
type State = (typeof STATES)[number];

export interface ReconciledRow {
  /** UTC. */
  day: string;
  model: string;
  ledger_usd: number;
  billed_usd: number;
  state: State;
  /** The day isn't over, so both sides are incomplete. */
  partial: boolean;
}

export interface ReconciledTotal extends Record<State, number> {
  ledger_usd: number;
  billed_usd: number;
}

/** Smaller differences are rounding in the reports. */
const CENT: NanoUsd = 10_000_000;

/** One side's sums by model. */
type Side = Map<string, NanoUsd>;
interface Day {
  ledger: Side;
  billed: Side;
}

/**
 * Compares the ledger with a bill by day and model. A model under an alias on one side and a dated name on the other is
 * one row, under the ledger's name.
 */
export function reconcile(
  ledger: readonly BillLine[],
  bill: readonly BillLine[],
  today: string,
): { data: ReconciledRow[]; total: ReconciledTotal } {
  const days = new Map<string, Day>();
  addLines(days, 'ledger', ledger);
  addLines(days, 'billed', bill);
  const data = [...days]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([day, sides]) => rowsOf(sides).map((row) => ({ day, ...row, partial: day >= today })));
  const total = {
    ledger_usd: sum(ledger),
    billed_usd: sum(bill),
    agrees: 0,
    differs: 0,
    only_billed: 0,
    only_booked: 0,
  };
  for (const { state } of data) total[state]++;
  return { data, total };
}

const sum = (lines: readonly BillLine[]) => usdNumber(lines.reduce((all, { nanoUsd }) => all + nanoUsd, 0));

function addLines(days: Map<string, Day>, side: keyof Day, lines: readonly BillLine[]): void {
  for (const { day, model, nanoUsd } of lines) {
    const sides = remembered(days, day, () => ({ ledger: new Map(), billed: new Map() }));
    sides[side].set(model, (sides[side].get(model) ?? 0) + nanoUsd);
  }
}

type Row = Pick<ReconciledRow, 'model' | 'ledger_usd' | 'billed_usd' | 'state'>;

function rowsOf({ ledger, billed }: Day): Row[] {
  const families = new Map<string, Set<string>>();
  for (const model of [...ledger.keys(), ...billed.keys()]) {
    const family = familyOf(model);
    families.set(family, (families.get(family) ?? new Set()).add(model));
  }
  return [...families]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([family, names]) => groupsOf(family, [...names], { ledger, billed }))
    .flatMap(({ model, names }) => rowOf(model, names, { ledger, billed }));
}

/** Groups by name if both sides use the same names or only one side has any; else makes a single group. */
function groupsOf(family: string, names: readonly string[], { ledger, billed }: Day) {
  const [inLedger, inBill] = [ledger, billed].map((side) => names.filter((name) => side.has(name)));
  const isShared = names.every((name) => ledger.has(name) && billed.has(name));
  if (isShared || !inLedger?.length || !inBill?.length)
    return names.map((model) => ({ model, names: [model] }));
  return [{ model: (inLedger.length === 1 ? inLedger[0] : undefined) ?? family, names }];
}

function rowOf(model: string, names: readonly string[], { ledger, billed }: Day): Row[] {
  const of = (side: Side) => names.reduce((all, name) => all + (side.get(name) ?? 0), 0);
  const [booked, bill] = [of(ledger), of(billed)];
  // Rows of free and refused requests cost nothing.
  if (booked === 0 && bill === 0) return [];
  const isIn = (side: Side) => names.some((name) => side.has(name));
  const state: State = !isIn(ledger)
    ? 'only_billed'
    : !isIn(billed)
      ? 'only_booked'
      : Math.abs(booked - bill) < CENT
        ? 'agrees'
        : 'differs';
  return [{ model, ledger_usd: usdNumber(booked), billed_usd: usdNumber(bill), state }];
}

/** Normalizes a model name and drops its date: "Claude Haiku 4.5" and claude-haiku-4-5-20251001 are the same family. */
function familyOf(model: string): string {
  return model
    .toLowerCase()
    .replace(/^ft:([^:]+):.*$/, 'ft-$1')
    .replace(/[-@](\d{4}-\d{2}-\d{2}|20\d{6})(?=$|:)/, '')
    .replace(/-latest$/, '')
    .replaceAll(/[ .]/g, '-')
    .replace(/^claude-(\d+(?:-\d+)*)-([a-z]+)$/, 'claude-$2-$1');
}

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
