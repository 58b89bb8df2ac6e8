import { repositoryOf } from '../../attribution/repository.ts';
import { type ReadImport, readImport } from '../../insight/imports/read-imports.ts';
import { createListPrice } from '../../insight/list-price.ts';
import { formatUsd, type NanoUsd, usdNumber } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import { DEFAULT_PROJECT, findProject } from '../../store/accounts/projects.ts';
import { type ImportedCall, importUsage, readForgottenUsage } from '../../store/archive/import-usage.ts';
import type { Db } from '../../store/database/open.ts';
import { gauge } from '../../terminal/bars.ts';
import { count, plural } from '../../terminal/numbers.ts';
import type { Column } from '../../terminal/table.ts';
import { type Terminal, terminalOf } from '../../terminal/terminal.ts';
import { type Context, homeOf } from '../context.ts';
import { withLocalGateway } from '../local-gateway.ts';
import { listText } from '../print-list.ts';
import { type LogSource, sourceName, sourcesOf } from './sources.ts';

/** A row of `gw import --json`: calls, where no unit is named. */
export interface ImportRow {
  source: string;
  files: number;
  lines: number;
  damaged_lines: number;
  imported: number;
  already_imported: number;
  already_in_ledger: number;
  /** Those of the imported whose price is unknown. */
  unpriced: number;
  cost_usd: number;
  cost_nano_usd: number;
  /** Sessions of the imported calls. */
  sessions: number;
  damaged: { file: string; lines: readonly number[] }[];
  unread_files: string[];
}

interface ReadSourceOptions {
  reader: Reader;
  db: Db;
  /** UTC milliseconds. */
  since: number;
  isOver?: () => boolean;
  onProgress?: (share: number) => void;
}

/** Reads what did not come through gw. Undefined for an agent without logs. */
export async function readSource(
  context: Context,
  { agent, files }: LogSource,
  { reader, db, ...options }: ReadSourceOptions,
): Promise<ReadImport | undefined> {
  const forgotten = readForgottenUsage(db);
  return readImport(agent, reader, {
    ...options,
    env: context.env,
    home: homeOf(context),
    files,
    now: context.clock.now(),
    priceOf: createListPrice(await reader.prices(), context.paths.prices),
    repositoryOf,
    isForgotten: ({ sessionId, at }) => forgotten(sessionId, at),
  });
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
): ImportRow {
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
    cost_usd: usdNumber(nanoUsd),
    cost_nano_usd: nanoUsd,
    sessions: new Set(added.map(({ session }) => session)).size,
    damaged,
    unread_files: [...reading.unread],
  };
}

/** What calls cost together, as far as their prices are known. */
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
  /** Removes the bar. */
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

/** Line numbers that are named of one file. */
const MAX_LINES = 8;

const COLUMNS: Column<ImportRow>[] = [
  { header: 'source', value: ({ source }) => source },
  { header: 'files', value: ({ files }) => count(files), align: 'right' },
  { header: 'lines', value: ({ lines }) => count(lines), align: 'right' },
  { header: 'imported', value: ({ imported }) => count(imported), align: 'right' },
  { header: 'imported before', value: (row) => count(row.already_imported), align: 'right' },
  { header: 'through gw', value: (row) => count(row.already_in_ledger), align: 'right' },
  { header: 'cost', value: costOf, align: 'right' },
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
