import { type PlanReading, readPlanWindows } from '../../../providers/plan-windows.ts';
import type { Login } from '../../../providers/subscriptions.ts';
import type { RawHeaders } from '../../../raw-headers.ts';
import type { Db } from '../../../store/database/open.ts';
import type { Ledger } from '../../../store/ledger/ledger.ts';
import { createLimitRows, type LimitReading, listLimits } from '../../../store/limits/limit-rows.ts';
import { createLoginIds, type IdentifyLogin, type KnownLogin } from './login-ids.ts';

/** The windows of subscriptions. Created when the first login comes: without one, nothing of it runs. */
export interface PlanLimits {
  identify: IdentifyLogin;
  /** Reads the head of an answer to a login's request. */
  note(login: KnownLogin, headers: RawHeaders): PlanReading;
}

export interface PlanLimitsOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart'>;
  now: () => number;
  warn: (message: string) => void;
}

/** A statement that has not changed is written again after this long. */
const REPEAT_MS = 60_000;
/** A header stays odd: it is written once an hour. */
const ODD_REPEAT_MS = 3_600_000;

const SERVICE_OF: Readonly<Record<Login, LimitReading['service']>> = {
  claude: 'anthropic',
  chatgpt: 'chatgpt',
};

export function createPlanLimits({ db, ledger, now, warn }: PlanLimitsOptions): PlanLimits {
  const rows = createLimitRows(db);
  const latest = new Map<string, LimitReading>(listLimits(db).map((row) => [keyOf(row), row]));
  const oddAt = new Map<string, number>();

  /** No answer waits for it. What is lost with a full disk, the next answer states again. */
  const write = (command: () => void) =>
    void ledger.writeApart(command).catch(() => warn('the windows of a subscription could not be written'));

  function noteWindow(reading: LimitReading): void {
    const key = keyOf(reading);
    const last = latest.get(key);
    if (last && isRepeated(last, reading)) return;
    latest.set(key, reading);
    write(() => void rows.write(reading));
  }

  function noteOdd(service: string, odd: PlanReading['odd'][number], at: number): void {
    if (at - (oddAt.get(odd.header) ?? 0) < ODD_REPEAT_MS) return;
    oddAt.set(odd.header, at);
    write(() => rows.addOddity(service, odd, at));
  }

  return {
    identify: createLoginIds(),
    note(login, headers) {
      const updatedAt = Math.trunc(now());
      const service = SERVICE_OF[login.kind];
      const reading = readPlanWindows(login.kind, headers, updatedAt);
      for (const window of reading.windows) noteWindow({ ...window, login: login.id, service, updatedAt });
      for (const odd of reading.odd) noteOdd(service, odd, updatedAt);
      return reading;
    },
  };
}

const keyOf = ({ login, window, model }: Pick<LimitReading, 'login' | 'window' | 'model'>): string =>
  `${login} ${window} ${model}`;

function isRepeated(last: LimitReading, next: LimitReading): boolean {
  return (
    last.usedPpm === next.usedPpm &&
    last.status === next.status &&
    last.resetsAt === next.resetsAt &&
    next.updatedAt - last.updatedAt < REPEAT_MS
  );
}
