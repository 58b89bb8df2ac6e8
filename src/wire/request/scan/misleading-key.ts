import { isUtf8 } from 'node:buffer';
import { foldKey, hashOf } from '../../../json/key-watch.ts';
import { type Member, skipSpace, skipValue } from '../../../json/scan.ts';
import { walkArray, walkObject } from '../../../json/walk.ts';

/** A key that servers read in different ways. */
export interface MisleadingKey {
  /** Its place in the body, such as `tools[0].type`; empty where there are too many keys to tell. */
  path: string;
  /** The name that decoders which ignore case take it for; undefined for a key that stands twice. */
  name: string | undefined;
}

/** Names of fields that choose what answers, how much of it, and what is billed besides. */
// biome-ignore format: they fit a few lines
const NAMES = new Set([
  'background', 'best_of', 'budget_tokens', 'cache_control', 'computer_use', 'container', 'content', 'conversation',
  'data', 'detail', 'effort', 'enabled', 'engine', 'exclude', 'extra_body', 'fallbacks', 'file', 'file_data', 'file_id',
  'file_url', 'function', 'functions', 'image_url', 'include_usage', 'input', 'input_audio', 'instructions', 'max_calls',
  'max_completion_tokens', 'max_output_tokens', 'max_results', 'max_tokens', 'max_tool_calls', 'max_uses', 'media_type',
  'memory_limit', 'messages', 'model', 'models', 'n', 'name', 'plugins', 'prediction', 'preset', 'previous_response_id', 'prompt',
  'provider', 'purpose', 'reasoning', 'requests', 'role', 'search_context_size', 'service', 'service_tier', 'source',
  'speed', 'stream', 'stream_options', 'system', 'text', 'thinking', 'tools', 'ttl', 'type', 'url', 'web_search_options',
]);
/** The hashes of these names. */
export const KNOWN_KEYS: ReadonlySet<number> = new Set([...NAMES].map(hashOf));

/** What holds data and schemas of users, whose keys are their own. */
// biome-ignore format: they fit a few lines
const OWN_DATA = new Set([
  '$defs', 'arguments', 'client_metadata', 'definitions', 'headers', 'input_schema', 'json_schema', 'metadata',
  'parameters', 'patternProperties', 'properties', 'schema',
]);
/** Data within a message: the input of a tool's call, and what it returned. */
const IN_MESSAGE = new Set(['input', 'output']);

/** Comparing so many keys takes some ten milliseconds. */
export const MAX_KEYS = 50_000;
const UNUSUAL_CHARACTER = /[^a-z\d_]/;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** A JSON body whose keys were watched while it was scanned. */
interface WatchedBody {
  bytes: Buffer;
  members: readonly Member[];
  mayMislead?: boolean;
}

/** Whether a body may have a misleading key. A quick check that may find more than there is, but never less. */
export function mayMislead({ bytes, members, mayMislead: found }: WatchedBody): boolean {
  return members.length > 0 && (found === true || hasOddKeys(members) || !isUtf8(bytes));
}

/**
 * The first key of a JSON body that stands twice in its object, or that some decoders take for a known field. Throws
 * JsonSyntaxError for a key with bad escapes.
 */
export const findMisleadingKey = (bytes: Buffer): MisleadingKey | undefined => new KeyComparison(bytes).run();

function hasOddKeys(members: readonly Member[]): boolean {
  const keys = new Set(members.map(({ key }) => key));
  return keys.size < members.length || members.some(({ key }) => UNUSUAL_CHARACTER.test(key));
}

/** One walk over a body. */
class KeyComparison {
  readonly #bytes: Buffer;
  /** The keys and indexes that lead to the value that is walked. */
  readonly #place: (string | number)[] = [];
  #found: MisleadingKey | undefined;
  #left = MAX_KEYS;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  run(): MisleadingKey | undefined {
    this.#walk(skipSpace(this.#bytes, this.#bytes[0] === 0xef ? 3 : 0), false);
    return this.#found;
  }

  /** `isOwn`: within data of users. Returns the end of the value. */
  #walk(start: number, isOwn: boolean): number {
    const bytes = this.#bytes;
    const first = bytes[start];
    if (this.#found || (first !== OPEN_BRACE && first !== OPEN_BRACKET)) return skipValue(bytes, start);
    const depth = this.#place.length;
    const seen = new Set<string>();
    const end =
      first === OPEN_BRACKET
        ? walkArray(bytes, start, (at, i) => {
            this.#place[depth] = i;
            return this.#walk(at, isOwn);
          })
        : walkObject(bytes, start, (key, at) => {
            this.#place[depth] = key;
            this.#compare(key, seen, isOwn);
            const isData =
              OWN_DATA.has(key) || (depth > 0 && IN_MESSAGE.has(key) && bytes[at] === OPEN_BRACE);
            return this.#walk(at, isOwn || isData);
          });
    this.#place.length = depth;
    return end;
  }

  #compare(key: string, seen: Set<string>, isOwn: boolean): void {
    if (this.#found) return;
    if (--this.#left < 0) this.#found = { path: '', name: undefined };
    else if (seen.has(key)) this.#found = { path: this.#path(), name: undefined };
    seen.add(key);
    if (isOwn || !UNUSUAL_CHARACTER.test(key)) return;
    const name = foldKey(key);
    if (NAMES.has(name)) this.#found ??= { path: this.#path(), name };
  }

  #path(): string {
    return this.#place.reduce<string>(
      (path, each) =>
        typeof each === 'number' ? `${path}[${each}]` : path === '' ? each : `${path}.${each}`,
      '',
    );
  }
}
