import type { Network } from '../../network/network.ts';
import type { OwnProxy } from '../../network/way-out.ts';
import {
  BillError,
  type BillLine,
  type CostReport,
  type Days,
  type Report,
  type UsageLine,
} from './reports.ts';

export interface FetchOptions {
  report: CostReport;
  /** Name of the provider, for messages. */
  provider: string;
  origin: string;
  network: Network;
  ownProxy?: OwnProxy | undefined;
  key: string;
  days: Days;
  wait(ms: number): Promise<unknown>;
  now(): number;
}

const TIMEOUT_MS = 60_000;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_PAGES = 1_000;
const MAX_TRIES = 5;
const MAX_WAIT_MS = 60_000;

/** Fetches all lines of a provider's cost report. Messages don't contain the key. Throws BillError. */
export const fetchBill = (options: FetchOptions): Promise<BillLine[]> =>
  fetchLines({ ...options, name: 'cost report' }, options.report);

/** Fetches all lines of a provider's usage report. Messages don't contain the key. Throws BillError. */
export const fetchUsage = (options: FetchOptions): Promise<UsageLine[]> =>
  fetchLines({ ...options, name: 'usage report' }, options.report.usage);

interface NamedOptions extends FetchOptions {
  /** The report's name in messages. */
  name: string;
}

async function fetchLines<T extends { day: string }>(options: NamedOptions, report: Report<T>): Promise<T[]> {
  const { provider, days, name } = options;
  const lines: T[] = [];
  const seen = new Set<string>();
  for (let page: string | undefined; ; ) {
    const answer = await fetchPage(options, report.path(days, page));
    const { lines: found, next } = readPage(report, options, answer);
    for (const line of found) if (line.day >= days.from && line.day <= days.to) lines.push(line);
    if (next === undefined) return lines;
    if (seen.has(next) || seen.size === MAX_PAGES)
      throw new BillError(`the ${name} of ${provider} has no end: page ${seen.size + 1} leads to itself`);
    seen.add(next);
    page = next;
  }
}

function readPage<T>(report: Report<T>, { provider, name }: NamedOptions, text: string) {
  try {
    return report.read(JSON.parse(text));
  } catch (error) {
    if (error instanceof BillError) throw error;
    throw new BillError(
      `the ${name} of ${provider} is not of the documented form. Export it as CSV instead: gw reconcile ${provider} --csv FILE`,
    );
  }
}

async function fetchPage(options: NamedOptions, path: string): Promise<string> {
  for (let tries = 1; ; tries++) {
    const { status, retryAfter, text } = await ask(options, path);
    if (status === 200) return text;
    const passes = status === 429 || status >= 500;
    if (!passes || tries === MAX_TRIES) throw refusal(options, status);
    const delayMs = waitMs(retryAfter, tries, options.now());
    if (delayMs > MAX_WAIT_MS) throw refusal(options, status, delayMs);
    if (delayMs > 0) await options.wait(delayMs);
  }
}

async function ask(
  { report, provider, origin, network, ownProxy, key, name: what }: NamedOptions,
  path: string,
) {
  const { request } = await import('undici');
  try {
    const { statusCode, headers, body } = await request(`${origin}${path}`, {
      dispatcher: network.open(new URL(origin), { own: ownProxy }),
      headers: ['accept', 'application/json', ...report.headers(key)],
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_BYTES) throw new BillError(`the ${what} of ${provider} has a page of over 64 MB`);
      chunks.push(chunk);
    }
    const retryAfter = headers['retry-after'];
    return {
      status: statusCode,
      retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      text: Buffer.concat(chunks).toString('utf8'),
    };
  } catch (error) {
    if (error instanceof BillError) throw error;
    const { code, name } = error as { code?: string; name?: string };
    throw new BillError(`can't reach ${origin} for the ${what} of ${provider}: ${code ?? name}`);
  }
}

/** Delay before a retry: `retry-after` in seconds or as a date, else one second, doubled at each try. */
function waitMs(retryAfter: string | undefined, tries: number, now: number): number {
  if (retryAfter === undefined) return 500 * 2 ** tries;
  if (/^\d+(\.\d+)?$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const until = Date.parse(retryAfter);
  return Number.isNaN(until) ? 500 * 2 ** tries : Math.max(0, until - now);
}

function refusal({ provider, report, name }: NamedOptions, status: number, delayMs = MAX_WAIT_MS): BillError {
  const what = `${provider} answered ${status} to the request for its ${name}`;
  if (status === 401)
    return new BillError(`${what}: the key is wrong, expired or not ${report.key}. The report needs one`);
  if (status === 403)
    return new BillError(`${what}: this key may not read it. It needs ${report.key} that may read usage`);
  if (status === 429)
    return new BillError(`${what}: too many requests. Try again in ${Math.ceil(delayMs / 1_000)} s`);
  return new BillError(`${what}. Try again later, or export it as CSV: gw reconcile ${provider} --csv FILE`);
}
