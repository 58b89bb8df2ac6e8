import { formatUsd, usdNumber } from '../../money.ts';
import { MIN_HELD_OUT, rateOf, type TrialOutcome } from '../../store/optimizer/outcome.ts';
import type { Side, Verdict } from '../../store/optimizer/trials.ts';
import { count, percent, plural, tokens } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { TimeFormat } from '../../terminal/time.ts';
import { type OptimizerReport, switchOn } from './report.ts';

interface Row {
  model: string;
  side: string;
  figures: Side;
}

const COLUMNS: Column<Row>[] = [
  { header: 'model', value: ({ model }) => model, shrinks: true },
  { header: 'prompts', value: ({ side }) => side },
  { header: 'conversations', value: ({ figures }) => count(figures.conversations), align: 'right' },
  { header: 'requests', value: ({ figures }) => count(figures.requests), align: 'right' },
  { header: 'tokens', value: ({ figures }) => tokens(figures.originalTokens), align: 'right' },
  { header: 'billed', value: ({ figures }) => formatUsd(figures.costNanoUsd), align: 'right' },
  { header: 'per 1M', value: ({ figures }) => perMillion(figures), align: 'right' },
];

/** The report of a trial: a table, then the verdict in words. */
export function reportText(
  { project, level, outcome, switchedOff }: OptimizerReport,
  { terminal, time, holdout }: { terminal: Terminal; time: TimeFormat; holdout: number },
): string {
  const title = terminal.palette.bold(`Optimizer, project ${project}, level ${level}`);
  const rows = outcome.models.flatMap(({ model, treated, heldOut }) => [
    { model, side: 'compressed', figures: treated },
    { model: '', side: 'held out', figures: heldOut },
  ]);
  const figures = rows.length > 0 ? ['', ...table(rows, COLUMNS, { terminal })] : [];
  const words = switchedOff ? offText(project, switchedOff, time) : verdictText(outcome, level, holdout);
  return [title, ...figures, '', words].join('\n');
}

/** Explains the figures; printed once below all reports. */
export const REPORT_NOTE =
  'Billed is everything that providers charged for these requests, including output, cache reads and cache writes. Tokens are those of the original conversations, estimated the same way on both sides.';

/** Why the optimizer is off, and how to switch it on again. */
function offText(project: string, verdict: Verdict, time: TimeFormat): string {
  const { at, savedNanoUsd, marginNanoUsd, treatedConversations, heldOutConversations } = verdict;
  return [
    `Switched off automatically at ${time.dateTime(at)}: compressing cost ${formatUsd(-savedNanoUsd)} more than it saved, give or take`,
    `${formatUsd(marginNanoUsd)}, over ${plural(treatedConversations, 'conversation')} against ${count(heldOutConversations)} held out.`,
    `To switch it on again: ${switchOn(project)}`,
  ].join('\n');
}

function verdictText(outcome: TrialOutcome, level: string, holdout: number): string {
  if (level === 'off') return 'The optimizer is off.';
  const { verdict, savedNanoUsd: saved, marginNanoUsd, heldOutConversations } = outcome;
  const figure = `${formatUsd(Math.abs(saved))}, give or take ${formatUsd(marginNanoUsd)} (95% confidence)`;
  switch (verdict) {
    case 'too_few':
      if (holdout === 0) return 'Nothing to compare with: optimizer.holdout is 0, so no prompt is held out.';
      return `Not enough data yet: ${count(heldOutConversations)} of at least ${MIN_HELD_OUT} held-out conversations, of models with 5 or more on both sides.\n${holdout}% of conversations are held out (optimizer.holdout).`;
    case 'saves':
      return `It pays: compressing saved ${figure}, ${percent(saved / costWithoutOptimizer(outcome))} of the bill.`;
    case 'costs':
      return `It does not pay: compressing cost ${figure} more than it saved. gw switches it off once that is certain.`;
    case 'unclear':
      return `No clear difference: compressing ${saved < 0 ? 'cost' : 'saved'} ${figure}.`;
  }
}

function costWithoutOptimizer({ models, savedNanoUsd }: TrialOutcome): number {
  const compared = models.filter(({ isCompared }) => isCompared);
  return savedNanoUsd + compared.reduce((sum, { treated }) => sum + treated.costNanoUsd, 0);
}

function perMillion(side: Side): string {
  return side.originalTokens > 0 ? formatUsd(Math.round(rateOf(side) * 1e6)) : '-';
}

export function reportJson({
  project,
  level,
  outcome,
  switchedOff,
}: OptimizerReport): Record<string, unknown> {
  return {
    project_id: project,
    level,
    verdict: outcome.verdict,
    ...amounts(outcome),
    treated_conversations: outcome.treatedConversations,
    held_out_conversations: outcome.heldOutConversations,
    needed_held_out_conversations: MIN_HELD_OUT,
    models: outcome.models.map(({ model, isCompared, treated, heldOut }) => ({
      model,
      is_compared: isCompared,
      treated: sideJson(treated),
      held_out: sideJson(heldOut),
    })),
    switched_off: switchedOff
      ? {
          at: new Date(switchedOff.at).toISOString(),
          ...amounts(switchedOff),
          treated_conversations: switchedOff.treatedConversations,
          held_out_conversations: switchedOff.heldOutConversations,
          switch_on: switchOn(project),
        }
      : null,
  };
}

function amounts({ savedNanoUsd, marginNanoUsd }: Pick<Verdict, 'savedNanoUsd' | 'marginNanoUsd'>): object {
  return {
    saved_usd: usdNumber(savedNanoUsd),
    saved_nano_usd: savedNanoUsd,
    margin_usd: usdNumber(marginNanoUsd),
    margin_nano_usd: marginNanoUsd,
  };
}

function sideJson(side: Side): Record<string, number | null> {
  return {
    conversations: side.conversations,
    requests: side.requests,
    original_tokens: side.originalTokens,
    billed_usd: usdNumber(side.costNanoUsd),
    billed_nano_usd: side.costNanoUsd,
    usd_per_million_tokens: side.originalTokens > 0 ? usdNumber(Math.round(rateOf(side) * 1e6)) : null,
  };
}
