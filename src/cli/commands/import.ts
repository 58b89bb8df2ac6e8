import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { Argument } from 'commander';
import type { Agent, LoggedAgent } from '../../agents/agent.ts';
import type { LogReading } from '../../agents/logs/read-logs.ts';
import { identifyLog } from '../../agents/logs/read-logs.ts';
import { AGENTS, EXPORTING } from '../../agents/table.ts';
import { findBypass } from '../../insight/coverage/find-bypass.ts';
import { createImported } from '../../insight/import/imported-call.ts';
import { createListPrice } from '../../insight/list-price.ts';
import { formatUsd, type NanoUsd, usdFields } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import { DEFAULT_PROJECT, findProject } from '../../store/accounts/projects.ts';
import { type ImportedCall, importUsage, readForgottenUsage } from '../../store/archive/import-usage.ts';
import type { Db } from '../../store/database/open.ts';
import { gauge } from '../../terminal/bars.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import { type Terminal, terminalOf } from '../../terminal/terminal.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { changeSetting } from '../config/change.ts';
import { findAgent } from '../connect/agents.ts';
import { type Context, homeOf, note, sayJson, screenOf, tell } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { withLocalGateway } from '../local-gateway.ts';
import { listText } from '../print-list.ts';
import { announceChange } from '../settings.ts';

export const importLogs: SetUp = (command, context) => {
  const sources = new Argument('[source...]', 'an agent or the path of a log (default: all agents)');
  sources.argChoices = READABLE.map(sourceName);
  command
    .addArgument(sources)
    .option('--watch', 'from now on, have gw read the logs of all agents as they grow (setting import.watch)')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `\nReads the session logs of ${READABLE.map(({ title }) => title).join(', ')} and adds what did not come through gw,\nat list price. Imported requests count in no budget. To see them: gw usage --source imported`,
    )
    .action(async (words, { json, watch = false }) => {
      if (watch && words.length > 0)
        throw usageError('--watch reads the logs of all agents: gw import --watch');
      if (watch) {
        await changeSetting(context, 'import.watch', 'on');
        await announceChange(context);
        const isRunning = (await findDaemon(context)).kind === 'running';
        note(
          context,
          `gw reads the logs of agents as they grow${isRunning ? '' : ' once it runs: gw start'}. To end it: gw config set import.watch off`,
        );
      }
      const rows = await importAll(context, words);
      if (json) sayJson(context, rows);
      else tell(context, importText(rows, screenOf(context)));
    });
};

/** A row of `gw import --json`: calls, where no unit is named. */
export type ImportRow = ReturnType<typeof rowOf>;

interface ReadSourceOptions {
  reader: Reader;
  db: Db;
  /** UTC milliseconds. */
  since: number;
  isOver?: () => boolean;
  onProgress?: (share: number) => void;
}

/** Result of reading an agent's logs. */
interface ReadImport {
  reading: LogReading;
  /** Calls that bypassed gw, at list price. */
  calls: ImportedCall[];
  /** Number of calls that went through gw, also of those whose record is deleted. */
  inLedger: number;
}

/** Reads what did not come through gw. Undefined for an agent without logs. */
export async function readSource(
  context: Context,
  { agent, files }: LogSource,
  { reader, db, ...options }: ReadSourceOptions,
): Promise<ReadImport | undefined> {
  const { env, clock, paths } = context;
  const isForgotten = readForgottenUsage(db);
  const priceOf = createListPrice(await reader.prices(), paths.prices);
  const places = { env, home: homeOf(context), files, now: clock.now() };
  const found = await findBypass(agent, reader, { ...options, ...places });
  if (!found) return undefined;
  const { reading, bypassed } = found;
  const toImport = createImported(agent.name, priceOf);
  const calls = reading.calls
    .filter((call) => bypassed.has(call) && !isForgotten(call.sessionId, call.at))
    .map(toImport);
  return { reading, calls, inLedger: reading.calls.length - calls.length };
}

/** Imports what did not come through gw, and has not been imported. Undefined for an agent without logs. */
async function importSource(
  context: Context,
  source: LogSource,
  progress: Progress,
): Promise<ImportRow | undefined> {
  return withLocalGateway(context, async (reader, db) => {
    const { title } = source.agent;
    const onProgress = (share: number) => progress.show(`reading the logs of ${title}`, share);
    const found = await readSource(context, source, { reader, db, since: 0, onProgress });
    if (!found) return undefined;
    const added = await importUsage(db, found.calls, {
      projectId: findProject(db, DEFAULT_PROJECT),
      onProgress: (done) => progress.show(`importing those of ${title}`, done / found.calls.length),
    });
    return rowOf(source, found, added);
  });
}

function rowOf(
  { agent }: LogSource,
  { reading, calls, inLedger }: ReadImport,
  added: readonly ImportedCall[],
) {
  const nanoUsd = sumOf(added);
  const damaged = [...reading.damaged].map(([file, lines]) => ({ file, lines }));
  return {
    source: sourceName(agent),
    files: reading.files,
    lines: reading.lines,
    damaged_lines: damaged.reduce((sum, { lines }) => sum + lines.length, 0),
    imported: added.length,
    already_imported: calls.length - added.length,
    already_in_ledger: inLedger,
    unpriced: added.filter(({ costNanoUsd }) => costNanoUsd === undefined).length,
    ...usdFields('cost', nanoUsd),
    sessions: new Set(added.map(({ session }) => session)).size,
    damaged,
    unread_files: [...reading.unread],
  };
}

/** Total cost of the calls whose price is known. */
export function sumOf(calls: readonly ImportedCall[]): NanoUsd {
  return calls.reduce((sum, { costNanoUsd }) => sum + (costNanoUsd ?? 0), 0);
}

/** Imports the logs that the words name, or those of all agents. Shows its progress on a terminal. */
export async function importAll(context: Context, words: readonly string[]): Promise<ImportRow[]> {
  const progress = createProgress(context);
  const rows: ImportRow[] = [];
  try {
    for (const source of await sourcesOf(words)) {
      const row = await importSource(context, source, progress);
      // Of the agents that nobody named, those that are not used here.
      if (row && (words.length > 0 || row.files > 0)) rows.push(row);
    }
  } finally {
    progress.end();
  }
  return rows;
}

/** A bar on a terminal while a command works. */
interface Progress {
  /** `share`: 0 to 1. */
  show(what: string, share: number): void;
  end(): void;
}

const WIDTH = 30;
const EVERY_MS = 50;

/** Draws on stderr; nothing where that is no terminal. */
function createProgress(context: Context): Progress {
  const { stderr, env, clock } = context;
  if (!stderr.isTTY) return { show() {}, end() {} };
  const { symbols, palette } = terminalOf(stderr, env);
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    show(what, share) {
      const now = clock.monotonic();
      if (now - drawnAt < EVERY_MS) return;
      drawnAt = now;
      const percent = `${Math.floor(share * 100)} %`.padStart(6);
      stderr.write(`\r${palette.accent(gauge(share, WIDTH, symbols))}${percent}  ${what}\x1b[K`);
    },
    end() {
      if (drawnAt !== Number.NEGATIVE_INFINITY) stderr.write('\r\x1b[K');
    },
  };
}

/** Limit of the line numbers that are listed per file. */
const MAX_LINES = 8;

const COLUMNS: Column<ImportRow>[] = [
  { header: 'source', value: ({ source }) => source },
  right('files', ({ files }) => count(files)),
  right('lines', ({ lines }) => count(lines)),
  right('imported', ({ imported }) => count(imported)),
  right('imported before', (row) => count(row.already_imported)),
  right('through gw', (row) => count(row.already_in_ledger)),
  right('cost', costOf),
];

/** `+?` after an amount stands for requests without a known price. */
function costOf({ cost_nano_usd: cost, unpriced, imported }: ImportRow): string {
  if (unpriced === 0) return formatUsd(cost);
  return unpriced === imported ? 'unpriced' : `${formatUsd(cost)}+?`;
}

/** The import for people: a row a source, then what was left out. */
export function importText(rows: readonly ImportRow[], terminal: Terminal): string {
  if (rows.length === 0) return 'Found no session logs. To import one: gw import FILE';
  const imported = rows.reduce((sum, row) => sum + row.imported, 0);
  const unpriced = rows.reduce((sum, row) => sum + row.unpriced, 0);
  const remarks = [
    ...rows.flatMap(({ damaged }) => damaged.map(damagedText)),
    ...rows.flatMap((row) => row.unread_files.map((file) => `can't read ${file}, left out`)),
    ...(unpriced > 0
      ? [`${plural(unpriced, 'request')} of unknown price: gw prices set MODEL --input X --output Y`]
      : []),
  ];
  return [
    listText([...rows], COLUMNS, terminal, { below: remarks }),
    ...(imported > 0
      ? ['', 'Imported requests are at list price and count in no budget. See: gw usage --source imported']
      : []),
  ].join('\n');
}

function damagedText({ file, lines }: ImportRow['damaged'][number]): string {
  const named = lines.slice(0, MAX_LINES).join(', ');
  const more = lines.length > MAX_LINES ? ', ...' : '';
  return `${plural(lines.length, 'damaged line')} in ${file}, left out: ${named}${more}`;
}

/** Logs of one agent: those in its folders, or these files. */
export interface LogSource {
  agent: LoggedAgent;
  files?: string[];
}

/** The agents whose logs gw can read. */
export const READABLE: readonly Agent[] = AGENTS.filter(({ log }) => log !== undefined);

/** The name of an agent's logs in commands and reports. */
export const sourceName = ({ name }: Pick<Agent, 'name'>): string =>
  name === 'claude' ? 'claude-code' : name;

const NAMES = READABLE.map(sourceName).join(', ');

/** Sources that the words name: agents and files, the files by their agent. Throws for a word that names neither. */
export async function sourcesOf(words: readonly string[]): Promise<LogSource[]> {
  if (words.length === 0) return READABLE.map((agent) => ({ agent }));
  const sources = new Map<string, LogSource>();
  for (const word of words) {
    const named = findAgent(word);
    const agent = named ?? (await agentOfFile(word));
    if (!agent.log) throw usageError(`gw can't read the logs of ${agent.title}. It reads those of ${NAMES}`);
    const files = named
      ? {}
      : { files: [...(sources.get(`files of ${agent.name}`)?.files ?? []), resolve(word)] };
    sources.set(named ? agent.name : `files of ${agent.name}`, { agent, ...files });
  }
  return [...sources.values()];
}

async function agentOfFile(path: string): Promise<LoggedAgent> {
  if (!existsSync(path))
    throw new CliError(
      `there is no agent and no file "${path}". Use ${NAMES}, or the path of a log`,
      EXIT.notFound,
    );
  if (statSync(path).isDirectory())
    throw usageError(`${path} is a folder: name the files in it, or an agent: ${NAMES}`);
  const agent = await identifyLog(path, [...READABLE, ...EXPORTING]).catch((error: unknown) => {
    throw new CliError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`);
  });
  if (agent) return agent;
  throw new CliError(`${path} is no session log of ${READABLE.map(({ title }) => title).join(', ')}`);
}
