import type { Settings } from '../../../config/settings.ts';
import { type PlanReading, readPlanWindows } from '../../../providers/plan-windows.ts';
import type { Login } from '../../../providers/subscriptions.ts';
import type { RawHeaders } from '../../../raw-headers.ts';
import type { Db } from '../../../store/database/open.ts';
import type { Ledger } from '../../../store/ledger/ledger.ts';
import { listGuards, listShares } from '../../../store/limits/guards.ts';
import { createLimitRows, type LimitReading, listLimits } from '../../../store/limits/limit-rows.ts';
import { createLimitAlerts } from './limit-alerts.ts';
import { createShareUse, type Guarded, guardedFrom, nameOf, type Sender } from './limit-guard.ts';
import { createLoginIds, type IdentifyLogin, type KnownLogin } from './login-ids.ts';

/** The windows of subscriptions. Created when the first login comes: without one, nothing of it runs. */
export interface PlanLimits {
  identify: IdentifyLogin;
  /** Reads the head of an answer to a login's request, and announces what its windows have reached. */
  note(login: KnownLogin, headers: RawHeaders, projectId: number): PlanReading;
  /** Counts an ended request to the share of its key. */
  spent(login: KnownLogin, keyId: number, costNanoUsd: number): void;
  /** Why a request has to stay out of the login's windows; undefined if it may pass. */
  guarded(login: KnownLogin, sender: Sender): Guarded | undefined;
  /** Until when the login's requests are billed beyond its plan, by its last answer; undefined: the plan covers them. */
  beyondPlanUntil(login: KnownLogin): number | undefined;
  /** Reads guards and shares again. */
  reload(): void;
}

export interface PlanLimitsOptions {
  db: Db;
  ledger: Pick<Ledger, 'writeApart' | 'emit'>;
  settings: () => Settings;
  now: () => number;
  warn: (message: string) => void;
}

/** A statement that has not changed is written again after this long. */
const REPEAT_MS = 60_000;
const HOUR_MS = 3_600_000;
/** A header stays odd: it is written once an hour. */
const ODD_REPEAT_MS = HOUR_MS;

const SERVICE_OF: Readonly<Record<Login, LimitReading['service']>> = {
  claude: 'anthropic',
  chatgpt: 'chatgpt',
};

export function createPlanLimits({ db, ledger, settings, now, warn }: PlanLimitsOptions): PlanLimits {
  const rows = createLimitRows(db);
  const announce = createLimitAlerts({
    db,
    emit: ledger.emit,
    percents: () => settings()['limits.alerts'].percents,
    isForecasting: () => settings()['limits.forecast_alerts'] === 'on',
  });
  const latest = new Map<string, LimitReading>(listLimits(db).map((row) => [nameOf(row), row]));
  const oddAt = new Map<string, number>();
  /** In memory: after a restart, the next answer says it again. */
  const beyond = new Map<string, number>();
  const use = createShareUse();
  for (const reading of latest.values()) use.note(reading);
  let guards = listGuards(db);
  let shares = listShares(db);

  /** No answer waits for it. What is lost with a full disk, the next answer states again. */
  const write = (command: () => void) =>
    void ledger.writeApart(command).catch(() => warn('the windows of a subscription could not be written'));

  function noteWindow(reading: LimitReading, projectId: number): void {
    use.note(reading);
    const last = latest.get(nameOf(reading));
    if (last && isRepeated(last, reading)) return;
    latest.set(nameOf(reading), reading);
    write(() => announce(rows.write(reading), projectId));
  }

  function noteOdd(service: string, odd: PlanReading['odd'][number], at: number): void {
    if (at - (oddAt.get(odd.header) ?? 0) < ODD_REPEAT_MS) return;
    oddAt.set(odd.header, at);
    write(() => rows.addOddity(service, odd, at));
  }

  const windowsOf = ({ id }: KnownLogin) => [...latest.values()].filter(({ login }) => login === id);

  return {
    identify: createLoginIds(),
    note(login, headers, projectId) {
      const updatedAt = Math.trunc(now());
      const service = SERVICE_OF[login.kind];
      const reading = readPlanWindows(login.kind, headers, updatedAt);
      for (const window of reading.windows)
        noteWindow({ ...window, login: login.id, service, updatedAt }, projectId);
      for (const odd of reading.odd) noteOdd(service, odd, updatedAt);
      if (reading.isBeyondPlan) beyond.set(login.id, resetOf(reading, updatedAt));
      else if (reading.windows.length > 0) beyond.delete(login.id);
      return reading;
    },
    spent: (login, keyId, costNanoUsd) => use.spent(login.id, keyId, costNanoUsd),
    guarded(login, sender) {
      const share = shares.get(Number(sender.key));
      if (guards.length === 0 && share === undefined) return undefined;
      const windows = windowsOf(login);
      return (
        guardedFrom(windows, guards, sender, now()) ??
        (share === undefined ? undefined : use.exhausted(windows, sender, share, now()))
      );
    },
    beyondPlanUntil({ id }) {
      const until = beyond.get(id);
      return until !== undefined && until > now() ? until : undefined;
    },
    reload() {
      guards = listGuards(db);
      shares = listShares(db);
    },
  };
}

/** When the window that is full resets. */
function resetOf({ windows }: PlanReading, at: number): number {
  const full = windows.filter(({ usedPpm, status }) => usedPpm >= 1_000_000 || status === 'rejected');
  return full.length > 0 ? Math.max(...full.map(({ resetsAt }) => resetsAt)) : at + HOUR_MS;
}

function isRepeated(last: LimitReading, next: LimitReading): boolean {
  return (
    last.usedPpm === next.usedPpm &&
    last.status === next.status &&
    last.resetsAt === next.resetsAt &&
    next.updatedAt - last.updatedAt < REPEAT_MS
  );
}
