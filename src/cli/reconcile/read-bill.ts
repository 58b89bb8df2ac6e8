import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { BillError, type BillLine, type UsageLine } from '../../insight/reconcile/bill.ts';
import type { FetchOptions } from '../../insight/reconcile/fetch-report.ts';
import type { CostReport, Days } from '../../insight/reconcile/reports.ts';
import { type Context, note } from '../context.ts';
import { CliError, usageError } from '../exit.ts';
import { networkOf } from '../network.ts';
import { remoteOf } from '../remote/connection.ts';

/** The lines of a CSV export. */
export async function billFromCsv(file: string, { columns }: CostReport): Promise<BillLine[]> {
  const { readCsv } = await import('../../insight/reconcile/read-csv.ts');
  try {
    return readCsv(readFileSync(file, 'utf8'), columns);
  } catch (error) {
    if (error instanceof BillError) throw usageError(`can't use ${file}: ${error.message}`);
    throw usageError(`can't read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'error'}`);
  }
}

interface Asked {
  provider: string;
  report: CostReport;
  days: Days;
  key: string;
}

/** Asks the provider, at the address that is configured for it on this machine. */
export async function billFromProvider(context: Context, { provider, ...asked }: Asked): Promise<BillLine[]> {
  const destination = await destinationOf(context, provider, asked.report);
  const { fetchBill } = await import('../../insight/reconcile/fetch-report.ts');
  try {
    return await fetchBill({ provider, ...asked, ...destination, wait, now: () => context.clock.now() });
  } catch (error) {
    throw error instanceof BillError ? new CliError(error.message) : error;
  }
}

/** What the provider counted; undefined, with a note, where it doesn't say: the costs are compared all the same. */
export async function usageFromProvider(
  context: Context,
  { provider, ...asked }: Asked,
): Promise<UsageLine[] | undefined> {
  const destination = await destinationOf(context, provider, asked.report);
  const { fetchUsage } = await import('../../insight/reconcile/fetch-report.ts');
  try {
    return await fetchUsage({ provider, ...asked, ...destination, wait, now: () => context.clock.now() });
  } catch (error) {
    if (!(error instanceof BillError)) throw error;
    note(context, `Tokens are not compared: ${error.message}`);
    return undefined;
  }
}

/** A remote gw has no say in where an admin key is sent, and no key goes out unencrypted. */
async function destinationOf(
  context: Context,
  provider: string,
  report: CostReport,
): Promise<Pick<FetchOptions, 'origin' | 'network' | 'ownProxy'>> {
  const network = await networkOf(context);
  if (remoteOf(context)) return { origin: report.origin, network };
  const { knownProviders } = await import('../providers/known-providers.ts');
  const known = knownProviders(context).providers.get(provider);
  const origin = known?.origin ?? report.origin;
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    return { origin, network, ownProxy: known?.ownProxy };
  throw usageError(
    `${provider} is configured at ${origin}: an admin key goes over https only. Use --csv FILE`,
  );
}
