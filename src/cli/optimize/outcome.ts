import { compressRequest } from '../../compression/compress-request.ts';
import type { Level } from '../../compression/conversation/compress.ts';
import { Conversation, type Step } from '../../compression/conversation/conversation.ts';
import { estimateTokens } from '../../compression/prompt/estimate.ts';
import { roleOf, textsOf } from '../../compression/prompt/message.ts';
import { readItem } from '../../compression/turns/turns.ts';
import { applyEdits, moved } from '../../json/edit.ts';
import { formatUsd, usdNumber } from '../../money.ts';
import { catalogIn, type KnownPrice, knownPrices } from '../../operations/known-prices.ts';
import { usdPerMillion } from '../../operations/price-views.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import { rateAt } from '../../pricing/rate.ts';
import { count, percent, plural } from '../../terminal/numbers.ts';
import { servedBy } from '../../terminal/request-words.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean, shorten } from '../../terminal/text.ts';
import { countTokens } from '../../tokens/count.ts';
import { encodingOf } from '../../tokens/encoding.ts';
import type { Context } from '../context.ts';
import type { RequestFile } from '../input/request-file.ts';
import { perMillion } from '../prices/read.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

const MAX_DIFF_LINES = 40;

type Row = Pick<MessageOutcome, 'role' | 'transforms' | 'tokensBefore' | 'tokensAfter'> & {
  index?: number;
};

/** The effect of compression on each message, as a table. */
export function outcomeTable(outcome: Outcome, terminal: Terminal): string {
  const { palette } = terminal;
  const rows: Row[] = outcome.messages;
  const columns: Column<Row>[] = [
    right('#', ({ index }) => String(index ?? '')),
    { header: 'role', value: ({ role }) => role, shrinks: true },
    right('before', ({ tokensBefore }) => count(tokensBefore)),
    right('after', ({ tokensAfter }) => count(tokensAfter)),
    right('saved', savedShare),
    { header: 'by', value: ({ transforms }) => transforms.join(', '), shrinks: true },
  ];
  const { tokensBefore, tokensAfter } = outcome;
  const total: Row = { role: 'total', transforms: [], tokensBefore, tokensAfter };
  const title =
    palette.bold(`Optimizer, level ${outcome.level}`) + (outcome.exact ? '' : ' (tokens are estimates)');
  return [title, '', ...table(rows, columns, { terminal, total })].join('\n');
}

/** The total saving in tokens and, if a price is known, in dollars. */
export function summary({ tokensBefore, tokensAfter, level }: Outcome, worth: Worth | undefined): string {
  const saved = tokensBefore - tokensAfter;
  if (saved === 0)
    return level === 'off' ? 'The optimizer is off.' : 'Nothing to save: the request stays as it is.';
  const saving = `Saves ${count(saved)} of ${plural(tokensBefore, 'input token')}`;
  if (!worth) return `${saving}. To see dollars: gw optimize --model MODEL`;
  const { card } = worth.price;
  const rate = perMillion(Number(rateAt(card.input, tokensBefore)));
  return `${saving}, ${formatUsd(worth.savedNanoUsd)} at ${clean(servedBy(worth.price))} (${rate} per million, uncached).`;
}

/** A diff of each changed message, with the transforms that changed it. */
export function outcomeDiff(
  { messages }: Pick<Outcome, 'messages'>,
  { palette, columns, symbols }: Terminal,
  titleOf: (message: MessageOutcome) => string = ({ index, role, transforms }) =>
    `${index} ${role}: ${transforms.join(', ')}`,
): string {
  const styles = { '-': palette.warn, '+': palette.accent, ' ': palette.dim };
  return messages
    .flatMap((message) => {
      const { before, after } = message;
      if (before === after) return [];
      const lines = shortDiff(diffLines(before, after), MAX_DIFF_LINES).map(({ sign, text }) =>
        styles[sign](`${sign} ${shorten(clean(text), columns - 2, symbols.ellipsis)}`),
      );
      return ['', palette.bold(clean(titleOf(message))), ...lines];
    })
    .join('\n');
}

export function outcomeJson(outcome: Outcome, worth: Worth | undefined): Record<string, unknown> {
  const { level, exact, tokensBefore, tokensAfter, messages } = outcome;
  return {
    level,
    tokens_exact: exact,
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    saved_tokens: tokensBefore - tokensAfter,
    saved_usd: worth ? usdNumber(worth.savedNanoUsd) : null,
    saved_nano_usd: worth?.savedNanoUsd ?? null,
    price: worth
      ? {
          provider: worth.price.provider,
          model: worth.price.model,
          input_usd_per_million: usdPerMillion(Number(rateAt(worth.price.card.input, tokensBefore))),
        }
      : null,
    messages: messages.map((message) => ({
      index: message.index,
      role: message.role,
      tokens_before: message.tokensBefore,
      tokens_after: message.tokensAfter,
      transforms: message.transforms,
    })),
  };
}

function savedShare({ tokensBefore, tokensAfter }: Row): string {
  return tokensAfter === tokensBefore ? '-' : percent(1 - tokensAfter / tokensBefore);
}

/** The value of saved input tokens, and the price it is based on. */
interface Worth {
  price: KnownPrice;
  /** Assumes that no input is read from a cache. */
  savedNanoUsd: number;
}

/** Value of the saved input tokens at the price of a model or alias; undefined if no price is known. */
export async function worthOf(
  context: Context,
  name: string,
  tokens: { tokensBefore: number; tokensAfter: number },
): Promise<Worth | undefined> {
  const { settings } = readSettings(context);
  const { providers } = settings;
  const [price] = knownPrices(settings.aliases[name] ?? name, {
    catalog: await withStore(context, (db) =>
      catalogIn(db, context.paths.prices, { providers, now: context.clock.now }),
    ),
    configured: Object.keys(providers),
  });
  if (!price) return undefined;
  const cost = (count: number) => BigInt(count) * rateAt(price.card.input, count);
  return { price, savedNanoUsd: nanoFromPico(cost(tokens.tokensBefore) - cost(tokens.tokensAfter)) };
}

interface DiffLine {
  sign: ' ' | '-' | '+';
  text: string;
}

/** Beyond this many pairs of lines, the differing part is shown as removed and added as a whole. */
const MAX_PAIRS = 1_000_000;
/** Unchanged lines shown next to a change. */
const CONTEXT = 1;
/** Most lines shown of one run of removed or added lines. */
const MAX_RUN = 6;

/** Line diff of two texts. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const shortest = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shortest && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  return [
    ...signed(' ', old.slice(0, head)),
    ...compare(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...signed(' ', old.slice(old.length - tail)),
  ];
}

/** Shortens a diff to the start of each change with one line of context, at most `limit` lines. `...` marks a gap. */
export function shortDiff(lines: readonly DiffLine[], limit: number): DiffLine[] {
  const shown = runsOf(lines).flatMap((run, i, runs) => {
    const isEdge = i === 0 || i === runs.length - 1;
    return run[0]?.sign === ' ' ? shortSame(run, { isFirst: i === 0, isEdge }) : shortChange(run);
  });
  return shown.length <= limit ? shown : [...shown.slice(0, limit - 1), gap('... and more changes')];
}

/** Shortens unchanged lines between two changes, or at either end of the text. */
function shortSame(run: DiffLine[], { isFirst, isEdge }: { isFirst: boolean; isEdge: boolean }): DiffLine[] {
  if (isEdge) return isFirst ? run.slice(-CONTEXT) : run.slice(0, CONTEXT);
  if (run.length <= 2 * CONTEXT + 1) return run;
  return [...run.slice(0, CONTEXT), gap('...'), ...run.slice(-CONTEXT)];
}

function shortChange(run: DiffLine[]): DiffLine[] {
  if (run.length <= MAX_RUN) return run;
  const rest = run.length - MAX_RUN + 1;
  return [
    ...run.slice(0, MAX_RUN - 1),
    gap(`... ${rest} more lines ${run[0]?.sign === '-' ? 'removed' : 'added'}`),
  ];
}

const gap = (text: string): DiffLine => ({ sign: ' ', text });

/** Groups consecutive lines with the same sign. */
function runsOf(lines: readonly DiffLine[]): DiffLine[][] {
  const runs: DiffLine[][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.[0]?.sign === line.sign) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

/** Diff that keeps the longest common subsequence. */
function compare(old: string[], fresh: string[]): DiffLine[] {
  if (old.length * fresh.length > MAX_PAIRS) return [...signed('-', old), ...signed('+', fresh)];
  const commonLength = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      i++;
      j++;
    } else if (commonLength(i + 1, j) >= commonLength(i, j + 1))
      lines.push({ sign: '-', text: old[i++] ?? '' });
    else lines.push({ sign: '+', text: fresh[j++] ?? '' });
  }
  return [...lines, ...signed('-', old.slice(i)), ...signed('+', fresh.slice(j))];
}

/** Length of the longest common subsequence of `old` from i and `fresh` from j. */
function commonLengths(old: string[], fresh: string[]): (i: number, j: number) => number {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return at;
}

const signed = (sign: DiffLine['sign'], lines: string[]): DiffLine[] => lines.map((text) => ({ sign, text }));

/** Effect of compression on one message, or on one tool result of a message that has several. */
export interface MessageOutcome {
  /** Position of the message in the request. */
  index: number;
  role: string;
  transforms: string[];
  before: string;
  after: string;
  tokensBefore: number;
  tokensAfter: number;
}

/** Effect of compression on a request. Counts only the texts of messages. */
export interface Outcome {
  level: Level;
  messages: MessageOutcome[];
  tokensBefore: number;
  tokensAfter: number;
  /** Whether tokens are counted with the model's encoding; otherwise they are estimates. */
  exact: boolean;
  /** The compressed request. Everything unchanged keeps its bytes. */
  body: Buffer;
}

export function measure(
  request: RequestFile,
  { level, model }: { level: Level; model: string | undefined },
): Outcome {
  const { form, start } = request;
  const encoding = model === undefined ? undefined : encodingOf(model);
  const count = (text: string) => (encoding ? countTokens(text, encoding) : estimateTokens(text));
  const conversation = new Conversation(level);
  const outcomes = request.messages.flatMap((item, index) =>
    readItem(item, form).map(({ message }) => outcomeOf(index, conversation.add(message), count)),
  );
  const sum = (field: 'tokensBefore' | 'tokensAfter') =>
    outcomes.reduce((total, each) => total + each[field], 0);
  const bytes = request.bytes.subarray(start, request.end);
  const edits = compressRequest({ bytes, form, level }).edits.map((edit) => moved(edit, start));
  return {
    level,
    messages: outcomes,
    tokensBefore: sum('tokensBefore'),
    tokensAfter: sum('tokensAfter'),
    exact: encoding !== undefined,
    body: applyEdits(request.bytes, edits),
  };
}

function outcomeOf(
  index: number,
  { message, output, report }: Step,
  count: (text: string) => number,
): MessageOutcome {
  const [before, after] = [textsOf(message).join('\n'), textsOf(output).join('\n')];
  const tokensBefore = count(before);
  return {
    index,
    role: roleOf(message),
    transforms: report.transforms,
    before,
    after,
    tokensBefore,
    tokensAfter: after === before ? tokensBefore : count(after),
  };
}
