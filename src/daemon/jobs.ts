import type { Clock } from '../clock.ts';
import type { Compressor } from '../compression/compressor.ts';
import { messageOf } from '../errors.ts';
import { startArchiver } from '../store/archive/archiver.ts';
import { createSizeLimit } from '../store/archive/size-limit.ts';
import { type ClockJump, recordClockJump } from '../store/database/clock-jumps.ts';
import { confirmedTime, createPruning } from '../store/database/retention.ts';
import { createClockWatch } from './clock-watch.ts';
import { judgeOptimizer } from './judge-optimizer.ts';
import { type MaintenanceStep, startMaintenance } from './maintain.ts';
import { createMemoryRelease } from './memory-release.ts';
import type { Core } from './open-core.ts';

export interface JobsOptions extends Core {
  compressor: Pick<Compressor, 'warmUp'>;
  saveConversations: () => Promise<void>;
  checkCertificate: () => void;
}

/** The warm-up loads what the first long prompt needs, once the daemon has started. */
const WARM_UP_AFTER_MS = 500;
const SWEEP_EVERY_MS = 5_000;
/** A daemon that is killed loses at most this much of the conversations. */
const SAVE_CONVERSATIONS_EVERY_MS = 60_000;
const JUDGE_EVERY_MS = 3_600_000;
const CHECK_CERTIFICATE_EVERY_MS = 60_000;
const RELEASE_MEMORY_EVERY_MS = 5 * 60_000;
/** An hour's usage is summed this long after its end, when nearly all of its requests have ended. */
const SUM_AFTER_MS = 10 * 60_000;

/** Starts the timers and the periodic jobs. The returned function stops them and waits for a running step. */
export function startJobs(options: JobsOptions): () => Promise<void> {
  const { clock, ledger, compressor, log } = options;
  const onError = (error: unknown) => log.error({ error: messageOf(error) }, 'a background job failed');
  const every = (intervalMs: number, job: () => Promise<void>) =>
    repeat(clock, intervalMs, () => job().catch(onError));

  const releaseMemory = createMemoryRelease();

  const stops = [
    clock.after(WARM_UP_AFTER_MS, compressor.warmUp),
    // Without requests, nothing else notices a change: of the retention, or that running requests are to be cut.
    every(SWEEP_EVERY_MS, async () => options.configuration.refresh()),
    every(SWEEP_EVERY_MS, options.recover),
    every(SWEEP_EVERY_MS, ledger.roll),
    every(SWEEP_EVERY_MS, watchClock(options)),
    every(JUDGE_EVERY_MS, () => judgeOptimizer(options)),
    every(SAVE_CONVERSATIONS_EVERY_MS, options.saveConversations),
    every(CHECK_CERTIFICATE_EVERY_MS, async () => options.checkCertificate()),
    every(RELEASE_MEMORY_EVERY_MS, async () => releaseMemory()),
  ];
  const stopArchiver = startArchiver({ ...options, onError });
  const stopMaintenance = startMaintenance({ clock, steps: maintenanceSteps(options), onError });
  return () => {
    for (const stop of stops) stop();
    return Promise.all([stopArchiver(), stopMaintenance()]).then(() => undefined);
  };
}

/** Returns the check for jumps of the clock, which puts them into the log and the database. */
function watchClock({ db, clock, clockWas, ledger, log }: Core): () => Promise<void> {
  const jumps: ClockJump[] = [];
  const check = createClockWatch({
    clock,
    clockWas,
    onJump: (jump) => void jumps.push(jump),
  });
  return async () => {
    check();
    for (let jump = jumps.shift(); jump; jump = jumps.shift()) {
      const { at, ms } = jump;
      log.warn({ ms, now: new Date(at).toISOString() }, `the clock jumped ${ms < 0 ? 'back' : 'forward'}`);
      await ledger.writeApart(() => recordClockJump(db, { at, ms }));
    }
  };
}

function maintenanceSteps({
  db,
  clock,
  ledger,
  archive,
  configuration,
  keptBodies,
}: Core): MaintenanceStep[] {
  const pruning = createPruning(db);
  const limitSize = createSizeLimit(db);
  const prune = (kind: 'requests' | 'deliveries' | 'events') => async () => {
    const { ms: keepMs } = configuration.current().settings['retention.requests'];
    return keepMs !== undefined && ledger.write(() => pruning[kind](confirmedTime(db, clock.now()), keepMs));
  };
  return [
    () => ledger.writeApart(() => archive.sumNextHour(clock.now() - SUM_AFTER_MS)),
    prune('requests'),
    prune('deliveries'),
    prune('events'),
    () => ledger.write(() => limitSize(configuration.current().settings['retention.max_bytes'])),
    () => ledger.write(() => pruning.minutes(confirmedTime(db, clock.now()))),
    () => keptBodies.sweep().then(() => false),
  ];
}

/** Runs `job` after each interval until the returned function is called. Runs never overlap. */
function repeat(clock: Clock, intervalMs: number, job: () => Promise<void>): () => void {
  let stopped = false;
  let cancel = () => {};
  const schedule = () => {
    if (stopped) return;
    cancel = clock.after(intervalMs, () => {
      void job().finally(schedule);
    });
  };
  schedule();
  return () => {
    stopped = true;
    cancel();
  };
}
