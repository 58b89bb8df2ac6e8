import { messageOf } from '../../errors.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { skipSpace, skipValue } from '../../json/scan.ts';
import { ANY_PRICE, type PriceProfile, profileIndex } from '../../pricing/price-profile.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { completionsWire } from '../../wire/apis/completions.ts';
import { embeddingsWire } from '../../wire/apis/embeddings.ts';
import { messagesWire } from '../../wire/apis/messages.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import { readForm } from '../../wire/request/form.ts';
import { readLoosely } from '../../wire/request/lenient.ts';
import { findMisleadingKey, mayMislead } from '../../wire/request/scan/misleading-key.ts';
import { mayAnswerOther } from '../../wire/request/surcharges.ts';
import type { Wire } from '../../wire/wire.ts';
import { inputBound } from '../admission/input-tokens.ts';
import { measureLarge } from '../admission/measure-prompt.ts';
import { priceProfile, type QuoteParts, quoteRequest } from '../admission/quote-request.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { giveWay, scanLoosely, scanRequest } from '../intake/scan-large.ts';
import type { Target } from '../state/resolver.ts';

/** Upper bounds of requests that are priced alike. */
export interface BatchGroup {
  model: string;
  requests: number;
  inputTokens: number;
  /** Of all choices. */
  outputTokens: number;
  /** Input tokens of the longest. */
  longest: number;
  profile: PriceProfile;
  /** Price of the service options, as a factor of the list price. */
  factor: number;
}

/** What the requests of a batch can use at most. */
export interface BatchBound {
  groups: BatchGroup[];
  /** Why that has no bound, as a sentence's end. */
  unbounded?: string;
}

interface Sender {
  gateway: QuoteParts;
  context: AnyRequestContext;
  provider: Target['provider'];
}

const WIRES: Readonly<Record<string, Wire>> = Object.fromEntries(
  [chatWire, completionsWire, embeddingsWire, messagesWire, responsesWire].map((wire) => [
    `/v1${wire.path}`,
    wire,
  ]),
);
/** More kinds of requests would fill the row of their file. */
const MAX_GROUPS = 100;
/** Bytes of requests that are bounded in about 10 ms. */
const SLICE = 256 * 1024;
const JSON_HEADERS = { headers: { 'content-type': 'application/json' } };

/**
 * The bound of an input file of `https://platform.openai.com/docs/guides/batch` in an upload's form. Undefined for another
 * purpose, and for a form that servers may read differently.
 */
export async function boundOfFile(
  sender: Sender,
  bytes: Buffer,
  contentType: string,
): Promise<BatchBound | undefined> {
  const fields = readForm(bytes, contentType) ?? [];
  const [purpose, otherPurpose] = fields.filter(({ name, isFile }) => name === 'purpose' && !isFile);
  const [file, otherFile] = fields.filter(({ isFile }) => isFile);
  if (!purpose || otherPurpose || !file || otherFile) return undefined;
  if (bytes.toString('utf8', purpose.start, purpose.end) !== 'batch') return undefined;
  return boundOf(sender, bytes, linesIn(bytes, file), readLine);
}

/** The bound of the requests in a body of `https://platform.claude.com/docs/en/api/creating-message-batches`. */
export function boundOfRequests(sender: Sender, bytes: Buffer): Promise<BatchBound> {
  const [list, other] = sender.context.request.members.filter(({ key }) => key === 'requests');
  if (!list || other || bytes[list.start] !== OPEN_BRACKET)
    return Promise.resolve({ groups: [], unbounded: '"requests" is no list' });
  return boundOf(sender, bytes, elementsIn(bytes, list), (request) => readItem(request, 'params', MESSAGES));
}

const MESSAGES = '/v1/messages';

function* linesIn(bytes: Buffer, { start, end }: Range): Generator<Range> {
  for (let at = start; at < end; ) {
    const newline = bytes.indexOf('\n', at);
    const lineEnd = newline < 0 || newline > end ? end : newline;
    const first = skipSpace(bytes, at);
    if (first < lineEnd) yield { start: first, end: lineEnd };
    at = lineEnd + 1;
  }
}

function* elementsIn(bytes: Buffer, list: Range): Generator<Range> {
  let start = skipSpace(bytes, list.start + 1);
  while (bytes[start] !== CLOSE_BRACKET) {
    const end = skipValue(bytes, start);
    yield { start, end };
    start = skipSpace(bytes, end);
    if (bytes[start] === COMMA) start = skipSpace(bytes, start + 1);
  }
}

/** A request within a batch: its endpoint, and its body. */
interface BatchItem {
  url: string;
  body: Buffer;
}

async function readLine(line: Buffer): Promise<BatchItem> {
  return readItem(line, 'body', undefined);
}

/** Throws for what is not such a request, or could be read as another one. */
async function readItem(bytes: Buffer, member: string, url: string | undefined): Promise<BatchItem> {
  const item = readLoosely(bytes, JSON_HEADERS, await scanLoosely(bytes, JSON_HEADERS.headers));
  const key = mayMislead(item) ? findMisleadingKey(bytes) : undefined;
  if (key) throw new Error(`has "${key.path}" twice, or in two spellings`);
  const range = item.members.find((each) => each.key === member);
  if (!range) throw new Error(`has no "${member}"`);
  const at = item.members.find((each) => each.key === 'url');
  const stated = at && JSON.parse(bytes.toString('utf8', at.start, at.end));
  return { url: url ?? String(stated), body: bytes.subarray(range.start, range.end) };
}

async function boundOf(
  sender: Sender,
  bytes: Buffer,
  ranges: Iterable<Range>,
  read: (item: Buffer) => Promise<BatchItem>,
): Promise<BatchBound> {
  const groups = new Map<string, BatchGroup>();
  let since = 0;
  let count = 0;
  for (const { start, end } of ranges) {
    count++;
    try {
      add(groups, await boundOfItem(sender, await read(bytes.subarray(start, end))));
      if (groups.size > MAX_GROUPS) throw new Error(`is of more than ${MAX_GROUPS} kinds`);
    } catch (error) {
      return { groups: [], unbounded: `request ${count} of the batch ${messageOf(error)}` };
    }
    if (start - since < SLICE) continue;
    since = start;
    await giveWay();
  }
  return count === 0 ? { groups: [], unbounded: 'it has no requests' } : { groups: [...groups.values()] };
}

function add(groups: Map<string, BatchGroup>, item: BatchGroup): void {
  const key = JSON.stringify([item.model, item.factor, profileIndex(item.profile)]);
  const group = groups.get(key);
  if (!group) return void groups.set(key, item);
  group.requests += item.requests;
  group.inputTokens += item.inputTokens;
  group.outputTokens += item.outputTokens;
  group.longest = Math.max(group.longest, item.longest);
}

/** Throws where gw would have to change the request to bound it: a batch goes out as it is. */
async function boundOfItem({ gateway, context, provider }: Sender, item: BatchItem): Promise<BatchGroup> {
  const wire = WIRES[item.url];
  if (!wire) throw new Error(`is for ${item.url}, which gw can't bound in a batch`);
  const { body } = item;
  const request = wire.parse(body, await scanRequest(body, wire));
  const own = { ...context, wire, request };
  const target = { provider, model: request.model };
  await measureLarge(own, target);
  const quote = quoteRequest(gateway, own, target)(inputBound(own, target));
  if (quote.tools) throw new Error("lets the provider run tools, whose calls gw can't limit in a batch");
  if (mayAnswerOther(request.surcharges)) throw new Error('lets another model answer');
  if (quote.mustLimit)
    throw new Error(`has no output limit, and gw doesn't know the most that ${request.model} writes`);
  const { inputTokens, outputTokens, beyondLimit, choices, listed, priceFactor } = quote;
  return {
    model: request.model,
    requests: 1,
    inputTokens,
    outputTokens: (outputTokens + beyondLimit) * choices,
    longest: inputTokens,
    profile: listed ? priceProfile(own, target, listed) : ANY_PRICE,
    factor: priceFactor,
  };
}
