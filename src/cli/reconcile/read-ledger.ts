import type { BillLine, UsageLine } from '../../insight/reconcile/bill.ts';
import type { Days } from '../../insight/reconcile/reports.ts';
import type { Reader } from '../../reading/reader.ts';
import type { UsageSource } from '../../store/reports/query.ts';
import { CliError, EXIT } from '../exit.ts';

interface Asked {
  provider: string;
  days: Days;
  source: UsageSource;
}

/** What the ledger booked at a provider, by UTC day and model. What wasn't billed by request costs nothing there. */
export async function readLedger(
  reader: Reader,
  { provider, days, source }: Asked,
): Promise<(BillLine & UsageLine)[]> {
  const report = await reader.usage({
    ...days,
    groupBy: 'day,model',
    timezone: 'UTC',
    source: source === 'gw' ? undefined : source,
  });
  if (report.project_id !== null)
    throw new CliError(
      `this key sees only the project ${report.project_id}, the bill is of all: use an admin key`,
      EXIT.key,
    );
  const prefix = `${provider}/`;
  return report.data.flatMap(({ day = '', model = '', ...figures }) => {
    if (!model.startsWith(prefix)) return [];
    const { cost_nano_usd: nanoUsd, input_tokens: inputTokens, output_tokens: outputTokens } = figures;
    return [{ day, model: model.slice(prefix.length), nanoUsd, inputTokens, outputTokens }];
  });
}
