import { isObject } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import type { Redactor } from '../../redact.ts';
import { parseObject, valuesIn } from '../../wire/answer/events.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { responsesWire } from '../../wire/apis/responses.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { StoredObjects } from '../state/access/stored-objects.ts';
import { namesObject } from './references.ts';

/** Objects that an answer made or named, which belong to the project from then on. */
interface NoteOptions {
  objects: StoredObjects;
  provider: string;
  projectId: number;
  /** The answer itself is stored, and what is in it. If not, only containers and files are. */
  isStored: boolean;
  /** The provider's key, in case that an id quotes it: such an id is not kept. */
  credential: Redactor;
}

/** Writes down the ids of one answer as they arrive, so that nobody else can use them. */
export class ObjectNotes {
  readonly #options: NoteOptions;
  readonly #known = new Set<string>();
  readonly #writes: Promise<void>[] = [];

  constructor(options: NoteOptions) {
    this.#options = options;
  }

  /** Takes complete events of a stream. Returns undefined if they name nothing new; else resolves when that is durable. */
  takeEvents(events: Buffer): Promise<void> | undefined {
    if (!mayHoldIds(events)) return undefined;
    const before = this.#writes.length;
    for (const value of valuesIn(events)) this.#take(value);
    return this.#writes.length > before ? this.written() : undefined;
  }

  /** Takes a complete answer. */
  takeBody(body: Buffer): void {
    const value = parseObject(body.toString('utf8'));
    if (value) this.#take(value);
  }

  /** Resolves when all ids are durable. */
  async written(): Promise<void> {
    await Promise.all(this.#writes);
  }

  #take(value: Record<string, unknown>): void {
    const { objects, provider, projectId, isStored, credential } = this.#options;
    const ids = idsIn(value, isStored).filter((id) => !this.#known.has(id) && credential.redact(id) === id);
    if (ids.length === 0) return;
    for (const id of ids) this.#known.add(id);
    this.#writes.push(objects.note(ids, { provider, projectId }));
  }
}

const ID = Buffer.from('"id"');
const ID_KEY = Buffer.from('_id"');
const DELTA = Buffer.from('.delta"');

/** Events of text deltas name nothing new. */
function mayHoldIds(events: Buffer): boolean {
  if (events.indexOf(ID) >= 0) return true;
  return events.indexOf(ID_KEY) >= 0 && events.indexOf(DELTA) < 0;
}

const MAX_IDS = 2_000;
const MAX_ID_LENGTH = 200;
const MAX_DEPTH = 100;

/** The ids that an answer names; texts and arguments of the client are left out, as they may hold anything. */
function idsIn(answer: Record<string, unknown>, isStored: boolean): string[] {
  const ids = new Set<string>();
  function visit(value: unknown, key: string, depth: number): void {
    if (typeof value === 'string') {
      const isId = isStored ? namesObject(key) || key === 'id' : isLasting(key);
      if (isId && value !== '' && value.length <= MAX_ID_LENGTH && ids.size < MAX_IDS) ids.add(value);
    } else if (depth > MAX_DEPTH) return;
    else if (Array.isArray(value)) for (const each of value) visit(each, key, depth + 1);
    else if (isObject(value)) {
      if (typeof value.id === 'string' && isLasting(key) && value.id.length <= MAX_ID_LENGTH)
        ids.add(value.id);
      for (const [name, member] of Object.entries(value)) {
        if (!ECHOED.has(name)) visit(member, name, depth + 1);
      }
    }
  }
  visit(answer, '', 0);
  return [...ids];
}

/** Fields that outlive an answer that is not stored itself. */
const isLasting = (key: string) => LASTING.has(key);
const LASTING = new Set(['container', 'container_id', 'file_id', 'audio']);

/** Fields of the request that answers repeat. */
// biome-ignore format: they fit a few lines
const ECHOED = new Set([
  'metadata', 'tools', 'instructions', 'arguments', 'input', 'text', 'delta', 'schema',
]);

/** Endpoints whose answers nobody can ask for again. */
const PASSING =
  /^(moderations|audio\/(?:speech|transcriptions|translations)|images|rerank|messages\/count_tokens|responses\/input_tokens)(\/|$)/;

/**
 * Whether the provider stores the answer, so that its id is of use to others: responses unless `store` is false, chat
 * completions if it is true, and whatever another endpoint makes.
 */
export function storesAnswer({ wire, request }: AnyRequestContext): boolean {
  if (wire.unreported !== undefined) return !PASSING.test(wire.endpoint);
  const store = request.members.findLast(({ key }) => key === 'store');
  const value = store && readValue(request.bytes, store);
  return wire === responsesWire ? value !== false : wire === chatWire && value === true;
}
