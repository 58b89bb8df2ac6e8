import { spawnSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { retiredMessage } from '../../config/retired-settings.ts';
import { formatRequestId } from '../../ids.ts';
import { wayText } from '../../network/way-out.ts';
import { healthOf } from '../../operations/provider-views.ts';
import { PACKAGED_PRICES } from '../../pricing/library.ts';
import { readStoredPrices } from '../../pricing/published/stored-prices.ts';
import { learntText } from '../../providers/manners.ts';
import { PRESETS } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import { describeExcess, readDistrustedBounds, trustBounds } from '../../store/budgets/distrusted-bounds.ts';
import { listOddities } from '../../store/limits/limit-rows.ts';
import { countContradictions } from '../../store/reports/contradictions.ts';
import { pasteable } from '../../terminal/command-names.ts';
import { plural } from '../../terminal/numbers.ts';
import { healthText, isTroubled } from '../../terminal/request-words.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { pad, wrap } from '../../terminal/text.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson, screenOf, tell } from '../context.ts';
import { checkConnectedAgents } from '../coverage/connected-agent.ts';
import type { ConnectedAgent } from '../coverage/find-connected.ts';
import { findDaemon } from '../daemon/find.ts';
import { portOwner } from '../daemon/port-owner.ts';
import {
  broken,
  checkClock,
  checkDatabase,
  checkDatabaseFile,
  checkDatabaseSize,
  checkDisk,
  checkInstall,
  checkKeyFiles,
  checkNode,
  checkPath,
  checkPermissions,
  checkTimezone,
  type Finding,
  longCheckMessage,
  ok,
  warning,
} from '../doctor/checks.ts';
import { CliError } from '../exit.ts';
import { knownProviders } from '../known-providers.ts';
import { readSwitchedOff, switchOn } from '../optimize/report.ts';
import { probeProvider } from '../providers/probe-provider.ts';
import { readLearnt } from '../providers/show-provider.ts';
import { networkOf, readSettings } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';
import { withStore } from '../with-store.ts';

export const doctor: SetUp = (command, context) =>
  command
    .option('--fix', 'fix file permissions, and reset a terminal that a killed dashboard left behind')
    .option('--quick', 'skip the integrity check of the database, which is slow for a large one')
    .option('--trust-bounds', 'use bounds of holds again that a provider has exceeded')
    .option(...AS_JSON)
    .addHelpText('after', '\nExits with code 1 if anything is broken.')
    .action(async ({ fix, quick = false, trustBounds: trust, json }) => {
      if (trust)
        note(context, `Switched ${plural(await withStore(context, trustBounds), 'bound')} on again.`);
      if (fix) {
        restoreTerminal(context);
        for (const finding of checkPermissions(context.paths)) finding.fix?.();
      }
      const findings = await examine(context, quick);
      if (json) sayJson(context, findings.map(findingJson));
      else {
        const terminal = screenOf(context);
        tell(
          context,
          findings.map((finding) => findingText(finding, { ...terminal, gw: context.gw })).join('\n'),
        );
      }
      const faults = findings.filter(({ state }) => state === 'broken').length;
      if (faults > 0) throw new CliError(`${plural(faults, 'problem')} to fix`);
    });

async function examine(context: Context, quick: boolean): Promise<Finding[]> {
  const { paths } = context;
  const warning = quick || !context.stderr.isTTY ? undefined : longCheckMessage(paths);
  if (warning !== undefined) note(context, warning);
  const database = (await checkDatabaseFile(paths)) ?? checkDatabase(paths, { quick });
  return [
    checkNode(),
    await checkInstall(context),
    checkPath(context),
    ...checkPermissions(paths),
    ...checkKeyFiles(paths),
    ...checkSettings(context),
    checkDisk(paths),
    database,
    ...(database.state === 'ok' ? [checkDatabaseSize(context)] : []),
    await checkDaemon(context),
    ...(await checkProviders(context)),
    checkPrices(context),
    // Compares the clock with the latest request in the database.
    ...(database.state === 'ok'
      ? [
          await checkClock(context),
          ...(await checkOptimizer(context)),
          ...(await checkHolds(context)),
          ...(await checkLearnt(context)),
          ...(await checkReports(context)),
          ...(await checkLimits(context)),
          ...(await checkAgents(context)),
        ]
      : []),
    checkTimezone(context),
  ];
}

const MARKS = { ok: 'ok', warning: '!', broken: 'X' } as const;

const INDENT = 17;

function findingText(
  { name, state, message, mend }: Finding,
  { palette, textColumns, gw }: Pick<Terminal, 'palette' | 'textColumns'> & Pick<Context, 'gw'>,
): string {
  const mark = pad(MARKS[state], 3);
  const painted =
    state === 'ok' ? palette.accent(mark) : state === 'broken' ? palette.bad(mark) : palette.warn(mark);
  const below = `\n${' '.repeat(INDENT)}`;
  const line = `${painted} ${palette.bold(pad(name, 12))} ${wrap(pasteable(message, gw), textColumns - INDENT).join(below)}`;
  // Commands are not wrapped, so that they can be pasted.
  return mend === undefined ? line : `${line}${below}${palette.dim('to fix:')} ${mend}`;
}

function findingJson({ name, state, message, mend }: Finding): Record<string, unknown> {
  return { name, state, message, mend: mend ?? null };
}

const LIMITS = { pastMs: 7 * 24 * 3_600_000, limitMs: 3_000 };

/** Checks that the settings of connected agents are as gw wrote them, and that their logs agree with the ledger. */
async function checkAgents(context: Context): Promise<Finding[]> {
  const agents = await withGateway(context, (reader) => checkConnectedAgents(context, reader, LIMITS));
  if (agents.length === 0) return [ok('agents', 'none connected; to see which there are: gw connect')];
  return agents.map((each) => findingOf(context, each));
}

function findingOf(context: Context, { agent, state, since, bypassed, complete }: ConnectedAgent): Finding {
  const { name, title } = agent;
  const times = createTimeFormat(readSettings(context).settings.timezone);
  const moment = times.moment(since, context.clock.now());
  if (bypassed) {
    const what = `${title} is connected, but its log has ${plural(bypassed, 'request')} since ${moment} that did not come through gw`;
    return warning('agents', what, `gw coverage ${name}, then start its running sessions again`);
  }
  if (state === 'changed')
    return warning('agents', `what gw wrote into the settings of ${title} was changed`, `gw connect ${name}`);
  if (bypassed === null) return ok('agents', `${title} is connected; gw can't read its log`);
  return ok(
    'agents',
    complete
      ? `${title} is connected; nothing in its log since ${moment} went around gw`
      : `${title} is connected; nothing in the newest part of its log went around gw. To read all of it: gw coverage ${name}`,
  );
}

/** Warns of headers about a subscription's windows that gw can't read: it keeps the figures that it had. */
async function checkLimits(context: Context): Promise<Finding[]> {
  const odd = await withStore(context, async (db) => listOddities(db));
  const times = createTimeFormat(readSettings(context).settings.timezone);
  return odd.map(({ service, header, problem, at }) =>
    warning(
      'limits',
      `${service} answered with ${header} that ${problem} (${times.moment(at, context.clock.now())}); gw does not use it`,
      "compare this machine's clock with the time; gw limits shows what is known",
    ),
  );
}

async function checkOptimizer(context: Context): Promise<Finding[]> {
  const off = [...(await readSwitchedOff(context)).keys()];
  if (off.length === 0) return [ok('optimizer', 'not switched off automatically for any project')];
  return off.map((project) =>
    warning(
      'optimizer',
      `switched off automatically for ${project}, because it cost more than it saved: gw optimize report`,
      switchOn(project),
    ),
  );
}

const DAY_MS = 86_400_000;
const OLD_DAYS = 60;

/** Warns when providers may have changed prices since those in use were released or downloaded. */
export function checkPrices({ clock, paths }: Pick<Context, 'clock' | 'paths'>): Finding {
  const { stored, problem } = readStoredPrices(paths.prices);
  if (problem) return warning('prices', problem, 'gw prices update');
  const { version, releasedAt } = PACKAGED_PRICES;
  const atMs = stored?.fetchedAt ?? releasedAt;
  const date = new Date(atMs).toISOString().slice(0, 10);
  const what = stored ? 'the downloaded prices' : `the packaged prices (genai-prices ${version})`;
  const inUse = `${what} are of ${date}`;
  const days = Math.floor((clock.now() - atMs) / DAY_MS);
  if (days <= OLD_DAYS) return ok('prices', inUse);
  return warning(
    'prices',
    `${inUse}, ${days} days ago; providers may have changed theirs`,
    'gw prices update',
  );
}

/** Lists what gw can't use in the settings file, and what this version ignores. */
function checkSettings(context: Context): Finding[] {
  const { retired, problems } = readSettings(context);
  return [
    ...problems.map((problem) => broken('settings', problem, 'correct the file, or follow the message')),
    ...retired.map((key) =>
      warning('settings', `ignored in the file: ${retiredMessage(key)}`, `gw config unset ${key}`),
    ),
  ];
}

// Resets colours, line wrap and the cursor; ends mouse reporting, bracketed paste and synchronized output; returns to
// the main screen, with the cursor on its last line so that nothing is overwritten. 1047 instead of 1049, which would
// move the cursor of a terminal that needs no reset.
const RESTORE = [
  '\u001b[0m\u001b[?7h\u001b[?25h',
  '\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?2026l',
  '\u001b[?1047l\u001b[999;1H\n',
].join('');

/** Resets a terminal that a killed dashboard left in raw mode or on the alternate screen. */
function restoreTerminal({ stdout, stdin }: Pick<Context, 'stdout' | 'stdin'>): void {
  if (stdout.isTTY) stdout.write(RESTORE);
  if (!stdin.isTTY || !isRaw()) return;
  spawnSync('stty', ['sane'], { stdio: ['inherit', 'ignore', 'ignore'] });
  process.on('exit', closeTerminal);
}

/** At exit Node restores the terminal mode it found at start. Closed descriptors prevent that. */
function closeTerminal(): void {
  for (const descriptor of [0, 1, 2]) if (isatty(descriptor)) closeSync(descriptor);
}

/** Checked first because `stty sane` also resets the user's own key settings. */
function isRaw(): boolean {
  const { stdout } = spawnSync('stty', ['-a'], { stdio: ['inherit', 'pipe', 'ignore'], encoding: 'utf8' });
  return /\s-(icanon|echo|isig|opost)\b/.test(stdout ?? '');
}

/** Checks that the daemon runs in this version; if it does not run, that its port is free. */
async function checkDaemon(context: Context): Promise<Finding> {
  const state = await findDaemon(context);
  switch (state.kind) {
    case 'running': {
      const { origin, pid, version, started_at } = state.daemon;
      if (version !== context.version)
        return warning('daemon', `gw ${version} is running, but this is gw ${context.version}`, 'gw restart');
      const up = duration(context.clock.now() - Date.parse(started_at));
      return ok('daemon', `running on ${origin}/v1, pid ${pid}, up ${up}`);
    }
    case 'silent':
      return broken('daemon', `pid ${state.pid} does not answer`, 'gw logs, then gw restart');
    case 'stopped':
      return checkPort(context);
  }
}

async function checkPort(context: Context): Promise<Finding> {
  const { port } = readSettings(context).settings;
  const owner = port === 0 ? undefined : await portOwner(port);
  if (!owner) return warning('daemon', `not running; port ${port} is free`, 'gw start');
  return broken(
    'port',
    `port ${port} is used by ${owner.name} (pid ${owner.pid}), while gw is not running`,
    `gw start --port ${port + 1}, or kill ${owner.pid}`,
  );
}

async function checkHolds(context: Context): Promise<Finding[]> {
  const bounds = await withStore(context, async (db) => readDistrustedBounds(db, context.clock.now()));
  if (bounds.length === 0) return [ok('holds', 'no request was reported above its bound')];
  const times = createTimeFormat(readSettings(context).settings.timezone);
  return bounds.map(({ provider, model, bound, at, requestId }) =>
    warning(
      'holds',
      `${provider}/${model} ${describeExcess(bound)} (${formatRequestId(requestId)}, ${times.dateTime(at)}). Holds are larger for 30 days`,
      'gw doctor --trust-bounds, to end that now',
    ),
  );
}

const DAYS = 30;

async function checkReports(context: Context): Promise<Finding[]> {
  const sinceMs = context.clock.now() - DAYS * 86_400_000;
  const found = await withStore(context, async (db) => countContradictions(db, sinceMs));
  return found.map(({ provider, requests }) =>
    warning(
      'usage',
      `${provider} reported usage that contradicts itself for ${plural(requests, 'request')} in ${DAYS} days; the figures are on the records`,
      'gw requests, for those flagged "inconsistent"; and tell the provider',
    ),
  );
}

/** What providers refuse, and gw leaves out. */
async function checkLearnt(context: Context): Promise<Finding[]> {
  const learnt = await readLearnt(context);
  return [...knownProviders(context).providers.keys()].flatMap((name) => {
    const found = learnt(name);
    if (found.length === 0) return [];
    const [first, ...others] = found.map(learntText);
    const more =
      others.length === 0 ? '' : `, and ${plural(others.length, 'more')}: gw providers show ${name}`;
    return [ok('providers', `${name}/${first}, which gw remembers for a day${more}`)];
  });
}

/** Checks that each provider is reachable and accepts its key. */
async function checkProviders(context: Context): Promise<Finding[]> {
  const { providers, problems } = knownProviders(context);
  const unusable = problems.map(({ name, message }) =>
    broken('providers', `${name}: ${message}`, `follow the message, or: gw providers remove ${name}`),
  );
  const options = { network: await networkOf(context), monotonic: context.clock.monotonic };
  const tested = await Promise.all(
    [...providers.values()].map(async (provider) => {
      const { ok: works, unreachable, better, message, way } = await probeProvider(provider, options);
      if (works)
        return ok('providers', `${provider.name}: ${message}${way?.proxy ? `, ${wayText(way)}` : ''}`);
      // A local runtime that is not running is not a fault of the installation.
      const failure = `${provider.name}: ${message.replace(/\. Run: .*/, '')}`;
      return provider.local
        ? warning('providers', failure, `start ${provider.name}, or: gw providers remove ${provider.name}`)
        : broken('providers', failure, unreachable ? connectionFix(provider) : addCommand(provider, better));
    }),
  );
  if (tested.length + unusable.length > 0) return [...unusable, ...tested, ...(await checkAnswers(context))];
  return [warning('providers', 'only the built-in sandbox', 'gw providers add openai')];
}

/** The providers whose calls of the last hour failed, or that get no requests now. */
async function checkAnswers(context: Context): Promise<Finding[]> {
  return withGateway(context, async (reader) => {
    const times = createTimeFormat((await reader.calendar()).timezone);
    const all = (await reader.status()).provider_health.map(healthOf);
    return all
      .filter(isTroubled)
      .map((health) =>
        warning(
          'providers',
          `${health.provider}: ${healthText(health, times, context.clock.now())}`,
          `gw providers test ${health.provider}`,
        ),
      );
  });
}

/** The cause is the network or the address, not the key. */
function connectionFix(provider: Provider): string {
  return `check the network connection, or set another address: gw providers add ${provider.name} --base-url URL`;
}

/** The command that adds the provider again, to change its key or address. */
function addCommand({ name, origin, basePath }: Provider, address = `${origin}${basePath}`): string {
  const at = PRESETS[name]?.baseUrl === address ? '' : ` --base-url ${address}`;
  return `gw providers add ${name}${at}`;
}
