import { usdNumber } from '../../money.ts';
import type { UsageView, UsageViewRow } from '../../operations/schemas/usage.ts';
import { makersModel } from '../../pricing/deployments.ts';
import { usageError } from '../exit.ts';

/** The report with one row for all hosts of a model, under its maker's name, the dearest first. Exit code 2 without models. */
export function foldModels(report: UsageView): UsageView {
  if (!report.group_by.split(',').includes('model'))
    throw usageError('--fold is for a row a model: add -g model');
  const folded = new Map<string, UsageViewRow>();
  for (const row of report.data) {
    const named = { ...row, model: makersModel(row.model ?? '') };
    const key = JSON.stringify(Object.values(named).filter((value) => typeof value === 'string'));
    const sum = folded.get(key);
    folded.set(key, sum ? added(sum, named) : named);
  }
  return { ...report, data: [...folded.values()].sort((a, b) => b.cost_nano_usd - a.cost_nano_usd) };
}

/** Amounts in dollars are those in nano-USD once more, and sums of them would round. */
function added(a: UsageViewRow, b: UsageViewRow): UsageViewRow {
  const sum = Object.fromEntries(
    Object.entries(a).map(([name, value]) => {
      const other = b[name as keyof UsageViewRow];
      return [name, typeof value === 'number' && typeof other === 'number' ? value + other : value];
    }),
  ) as UsageViewRow;
  const [cost_usd, saved_usd, missed_usd] = [sum.cost_nano_usd, sum.saved_nano_usd, sum.missed_nano_usd].map(
    usdNumber,
  );
  return Object.assign(sum, { cost_usd, saved_usd, missed_usd });
}
