import { isFree } from './bill.ts';
import type { Charged } from './generous-provider.ts';
import { readGenerously } from './generous-reading.ts';
import { baseName } from './price-list.ts';
import type { Account, Outcome, Round } from './round.ts';

const NANO_PER_USD = 1_000_000_000;
/** Costs are rounded. */
const ROUNDING_NANO_USD = 1_000;
/** Says on a record that its cost is not, or may not be, what the provider bills. */
const FLAGGED = new Set(['estimated', 'overrun', 'underheld', 'unpriced', 'unmetered']);

/** What a round shows of promises that were broken: a cap passed, a model that a key may not use, money that isn't booked. */
export function problemsOf(round: Round): string[] {
  return [...capProblems(round), ...caseProblems(round), ...ledgerProblems(round)];
}

function capProblems({ accounts, outcomes, provider, isUnmetered }: Round): string[] {
  if (isUnmetered) return [];
  const billed = new Map<string, number>();
  for (const [each, { account }] of outcomes)
    billed.set(
      account.project,
      (billed.get(account.project) ?? 0) + (provider.ledger.get(`case-${each}`)?.nanoUsd ?? 0),
    );
  const caps = new Map(accounts.map(({ project, capUsd }) => [project, capUsd]));
  return [...caps].flatMap(([project, capUsd]) => {
    const nanoUsd = billed.get(project) ?? 0;
    return capUsd !== undefined && nanoUsd > capUsd * NANO_PER_USD
      ? [`project ${project} was billed $${nanoUsd / NANO_PER_USD} of a cap of $${capUsd}`]
      : [];
  });
}

function caseProblems(round: Round): string[] {
  const { outcomes, provider } = round;
  const problems: string[] = [];
  const lost = provider.ledger.get('');
  if (lost)
    problems.push(`billed without a case: ${JSON.stringify(lost.bills.map(({ call }) => call.target))}`);
  for (const [each, outcome] of outcomes) {
    const { account, sent } = outcome;
    const charged = provider.ledger.get(`case-${each}`);
    if (!charged) continue;
    const found = [...rightsProblems(account, charged.bills), ...moneyProblems(round, outcome, charged)];
    if (found.length === 0) continue;
    const body = sent.body.toString('latin1').slice(0, 600);
    const head = sent.headers.map((header) => header.join(': ')).join(', ');
    problems.push(`case ${each}: ${found.join('; ')}\n  ${sent.method} ${sent.path} [${head}] ${body}`);
  }
  return problems;
}

type Bills = NonNullable<ReturnType<Round['provider']['ledger']['get']>>['bills'];

function rightsProblems({ models }: Account, bills: Bills): string[] {
  if (!models) return [];
  return bills.flatMap(({ kind, call, model }) => {
    const reading = readGenerously(call);
    if (isFree(kind, reading)) return [];
    const other = [...reading.models, ...reading.toolModels, model].find(
      (name) => !models.has(baseName(name)),
    );
    return other === undefined ? [] : [`served with ${other}, which the key may not use`];
  });
}

/** Under a budget, hold and record cover all that is billed; without one, the record has what the answer reports. */
function moneyProblems(
  { records, isUnmetered }: Round,
  { account, id, status }: Outcome,
  { nanoUsd, reportedNanoUsd }: Charged,
): string[] {
  if (nanoUsd === 0) return [];
  const record = records.get(id ?? '');
  if (!record) return [`${nanoUsd} billed, and no record (${status})`];
  const isGuarded = account.capUsd !== undefined && !isUnmetered;
  const least = (isGuarded ? nanoUsd : reportedNanoUsd) * 0.999 - ROUNDING_NANO_USD;
  const { costNanoUsd, holdNanoUsd, flags } = record;
  const problems: string[] = [];
  if (costNanoUsd < least && !flags.some((flag) => FLAGGED.has(flag)))
    problems.push(`${nanoUsd} billed, ${costNanoUsd} booked (${flags})`);
  if (isGuarded && holdNanoUsd < least) problems.push(`${nanoUsd} billed, ${holdNanoUsd} held (${flags})`);
  return problems;
}

function ledgerProblems({ gateway, records }: Round): string[] {
  const rows = gateway.db
    .prepare<[], { project: string; posted: number; pending: number }>(
      `SELECT p.name AS project, total(b.posted_nano_usd) AS posted, total(b.pending_nano_usd) AS pending
       FROM budget_periods b JOIN budgets u ON u.id = b.budget_id JOIN projects p ON p.id = u.project_id GROUP BY p.name`,
    )
    .all();
  return rows.flatMap(({ project, posted, pending }) => {
    let booked = 0;
    for (const record of records.values()) if (record.project === project) booked += record.costNanoUsd;
    const isRight = pending === 0 && posted === booked;
    return isRight
      ? []
      : [`project ${project}: ${posted} posted, ${pending} pending for records of ${booked}`];
  });
}
