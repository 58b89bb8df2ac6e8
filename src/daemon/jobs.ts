import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../clock.ts';
import { openSettingsFile } from '../config/save.ts';
import { messageOf } from '../errors.ts';
import type { Gateway } from '../gateway/context/gateway.ts';
import { startStreamWatch } from '../gateway/state/stream-watch.ts';
import { formatUsd } from '../money.ts';
import { startArchiver } from '../store/archive/archive.ts';
import { createSizeLimit } from '../store/archive/size-limit.ts';
import { createWatchMark } from '../store/dashboard/stream-notes.ts';
import { confirmedTime, createPruning } from '../store/database/retention.ts';
import { type ClockJump, recordClockJump } from '../store/database/set-back.ts';
import { pruneLimits } from '../store/limits/limit-rows.ts';
import { outcomeOf } from '../store/optimizer/outcome.ts';
import { closeTrial, forgetTrials, projectsOnTrial, readTrials } from '../store/optimizer/trials.ts';
import { pruneBatchFiles } from '../store/requests/batch-files.ts';
import { createCarriedTurns } from '../store/requests/carried-turns.ts';
import { createRouterStateStore } from '../store/router/router-state.ts';
import type { Core } from './open-core.ts';

export interface JobsOptions extends Core {
  gateway: Pick<Gateway, 'compressor' | 'runningCalls' | 'upstreams'>;
  saveConversations: () => Promise<void>;
  checkCertificate: () => void;
}

/** Delay of the compressor's warm-up for the first long prompt. */
const WARM_UP_AFTER_MS = 500;
const SWEEP_EVERY_MS = 5_000;
/** A killed daemon loses at most this much of the conversations. */
const SAVE_CONVERSATIONS_EVERY_MS = 60_000;
const JUDGE_EVERY_MS = 3_600_000;
const CHECK_CERTIFICATE_EVERY_MS = 60_000;
const RELEASE_MEMORY_EVERY_MS = 5 * 60_000;
/** An hour's usage is summed this long after the hour's end, when nearly all its requests have ended. */
const SUM_AFTER_MS = 10 * 60_000;

/** Starts timers and periodic jobs. The returned function stops them and waits for running jobs. */
export function startJobs(options: JobsOptions): () => Promise<void> {
  const { clock, ledger, gateway, log } = options;
  const onError = (error: unknown) => log.error({ error: messageOf(error) }, 'a background job failed');
  const every = (intervalMs: number, job: () => Promise<void>) =>
    repeat(clock, intervalMs, () => job().catch(onError));

  const releaseMemory = createMemoryRelease();

  const stops = [
    clock.after(WARM_UP_AFTER_MS, gateway.compressor.warmUp),
    // Without requests, nothing else notices that the retention has changed or that running requests are to be cut.
    every(SWEEP_EVERY_MS, async () => options.configuration.refresh()),
    every(SWEEP_EVERY_MS, options.recover),
    every(SWEEP_EVERY_MS, ledger.roll),
    every(SWEEP_EVERY_MS, watchClock(options)),
    every(SWEEP_EVERY_MS, async () => gateway.upstreams.check()),
    every(JUDGE_EVERY_MS, () => judgeOptimizer(options)),
    every(SAVE_CONVERSATIONS_EVERY_MS, options.saveConversations),
    every(CHECK_CERTIFICATE_EVERY_MS, async () => options.checkCertificate()),
    every(RELEASE_MEMORY_EVERY_MS, async () => releaseMemory()),
    watchStreams(options, onError),
  ];
  const stopArchiver = startArchiver({ ...options, onError });
  const stopMaintenance = startMaintenance({ clock, steps: maintenanceSteps(options), onError });
  return () => {
    for (const stop of stops) stop();
    return Promise.all([stopArchiver(), stopMaintenance()]).then(() => undefined);
  };
}

function watchStreams({ db, clock, ledger, gateway }: JobsOptions, onError: (error: unknown) => void) {
  const { save } = createRouterStateStore(db);
  const { isFresh } = createWatchMark(db);
  return startStreamWatch({
    calls: gateway.runningCalls,
    clock,
    isWatched: () => isFresh(clock.now()),
    note: (streams) => void ledger.write(() => save('streams', streams, clock.now())).catch(onError),
  });
}

/** Returns a check for clock jumps that records them in the log and the database. */
function watchClock({ db, clock, clockWas, ledger, log }: Core): () => Promise<void> {
  const jumps: ClockJump[] = [];
  const check = createClockWatch({ clock, clockWas, onJump: (jump) => void jumps.push(jump) });
  return async () => {
    check();
    for (let jump = jumps.shift(); jump; jump = jumps.shift()) {
      const { at, ms } = jump;
      log.warn({ ms, now: new Date(at).toISOString() }, `the clock jumped ${ms < 0 ? 'back' : 'forward'}`);
      await ledger.writeApart(() => recordClockJump(db, { at, ms }));
    }
  };
}

function maintenanceSteps(core: Core): MaintenanceStep[] {
  const { db, clock, ledger, archive, configuration, keptBodies, keptAnswers } = core;
  const pruning = createPruning(db);
  const turns = createCarriedTurns(db);
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
    () => ledger.write(() => turns.prune(confirmedTime(db, clock.now()))),
    () => ledger.expireJobs().then((expired) => expired > 0),
    () => ledger.write(() => pruneBatchFiles(db, confirmedTime(db, clock.now()))),
    () => ledger.writeApart(() => pruneLimits(db, confirmedTime(db, clock.now()))),
    () => keptBodies.sweep().then(() => false),
    () => keptAnswers.sweep().then(() => false),
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

/** Smaller steps are routine NTP corrections. */
const JUMP_MS = 60_000;

interface ClockWatchOptions {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Latest time recorded by an earlier process, UTC milliseconds. */
  clockWas: number;
  onJump: (jump: ClockJump) => void;
}

/**
 * Returns a check that compares the wall clock with the elapsed monotonic time. A computer that slept appears to have
 * jumped forward, because the monotonic clock may stop during sleep.
 */
export function createClockWatch({ clock, clockWas, onJump }: ClockWatchOptions): () => void {
  const offset = () => clock.now() - clock.monotonic();
  let last = offset();
  if (clockWas - clock.now() > JUMP_MS) onJump({ at: clock.now(), ms: clock.now() - clockWas });
  return () => {
    const ms = offset() - last;
    last += ms;
    if (Math.abs(ms) > JUMP_MS) onJump({ at: clock.now(), ms: Math.round(ms) });
  };
}

/** Models, prices and the project's use of them change, so older evidence no longer applies. */
const KEEP_MS = 60 * 86_400_000;

/** Switches the optimizer off for each project whose cost it has increased with statistical certainty. */
async function judgeOptimizer(core: Core): Promise<void> {
  const { db, ledger, clock, configuration, paths, warn } = core;
  await ledger.write(() => forgetTrials(db, confirmedTime(db, clock.now()) - KEEP_MS));
  for (const { id, name } of await projectsOnTrial(db)) {
    const { settings } = configuration.current();
    const level = settings['optimizer.projects'][name] ?? settings['optimizer.level'];
    const outcome = outcomeOf(await readTrials(db, id, level));
    if (!outcome.isCertain) continue;
    // Written to the settings file, where the user can find it and switch the optimizer on again.
    (await openSettingsFile(paths.config)).set(['optimizer', 'projects', name], 'off');
    await ledger.write(() => closeTrial(db, id, { at: clock.now(), ...outcome }));
    await configuration.reload();
    warn(
      `switched the optimizer off for project ${name}: it cost ${formatUsd(-outcome.savedNanoUsd)} more than it saved (margin of error: ${formatUsd(outcome.marginNanoUsd)}). To switch it on again: gw config set optimizer.projects.${name} ${level}`,
    );
  }
}

interface MemoryReleaseOptions {
  heapBytes?: () => number;
  /** Fraction of the time since the last call in which the event loop was busy. */
  busyShare?: () => number;
  collect?: () => void;
}

/** An idle daemon is busy for a fifth of this. */
const QUIET_SHARE = 0.01;
/** Less memory isn't worth a collection, which takes 30 ms. */
const WORTHWHILE_BYTES = 16 * 1024 ** 2;

/**
 * Returns a check, to be called every few minutes, that releases memory to the system if no requests came since the
 * previous call. The collection also frees objects that compiled code refers to, and the code with them: the next
 * 20,000 requests or so take twice the CPU, so a few idle seconds don't justify it.
 */
export function createMemoryRelease(options: MemoryReleaseOptions = {}): () => void {
  const { heapBytes = totalHeapBytes, busyShare = createBusyShare(), collect = createCollect() } = options;
  let least = heapBytes();
  return () => {
    const bytes = heapBytes();
    least = Math.min(least, bytes);
    if (busyShare() > QUIET_SHARE || bytes - least < WORTHWHILE_BYTES) return;
    collect();
    least = heapBytes();
  };
}

const totalHeapBytes = (): number => getHeapStatistics().total_heap_size;

function createBusyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** V8 exposes `gc` only in contexts created while this flag is set. */
function createCollect(): () => void {
  let gc: (() => void) | undefined;
  return () => {
    setFlagsFromString('--expose-gc');
    gc ??= runInNewContext('gc') as () => void;
    gc();
  };
}

/** Works for a few milliseconds; resolves to whether there is more to do. */
type MaintenanceStep = () => Promise<boolean>;

interface MaintenanceOptions {
  clock: Clock;
  steps: readonly MaintenanceStep[];
  onError: (error: unknown) => void;
}

const EVERY_MS = 60_000;
/** The pause between steps lets waiting requests run, so that their delays don't add up. */
const PAUSE_MS = 50;

/**
 * Runs the steps in order once a minute. The returned function stops them and resolves when nothing runs any more.
 * Several daemons on one database may run at once: each step finds and does its work in one transaction.
 */
export function startMaintenance({ clock, steps, onError }: MaintenanceOptions): () => Promise<void> {
  let stopped = false;
  let wake = () => {};

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (stopped) return resolve();
      const cancel = clock.after(ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });

  async function run(): Promise<void> {
    for (const step of steps) {
      while (!stopped && (await step())) await pause(PAUSE_MS);
    }
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      await pause(EVERY_MS);
      // After a full disk or a lock, retries in the next minute.
      await run().catch(onError);
    }
  }

  const ended = loop();
  return () => {
    stopped = true;
    wake();
    return ended;
  };
}
