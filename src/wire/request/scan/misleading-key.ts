import { isUtf8 } from 'node:buffer';
import { OPEN_BRACE, OPEN_BRACKET } from '../../../json/bytes.ts';
import { foldKey, hashOf } from '../../../json/key-watch.ts';
import { type Member, skipSpace, skipValue } from '../../../json/scan.ts';
import { walkArray, walkObject } from '../../../json/walk.ts';

/** A key that servers read differently. */
export interface MisleadingKey {
  /** Its path, such as `tools[0].type`; empty if there are too many keys to compare. */
  path: string;
  /** The name that case-insensitive decoders read; undefined for a duplicate key. */
  name: string | undefined;
}

/** Fields that select the model, the size of the output, or charged extras. */
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
export const KNOWN_KEYS: ReadonlySet<number> = new Set([...NAMES].map(hashOf));

/** Fields with user data and schemas. Their keys are arbitrary. */
// biome-ignore format: they fit a few lines
const OWN_DATA = new Set([
  '$defs', 'arguments', 'client_metadata', 'definitions', 'headers', 'input_schema', 'json_schema', 'metadata',
  'parameters', 'parametersJsonSchema', 'patternProperties', 'properties', 'responseJsonSchema', 'responseSchema',
  'schema',
]);
/** User data within a message: a tool call's input and output. */
const IN_MESSAGE = new Set(['args', 'input', 'output', 'response']);

/** Comparing this many keys takes about 10 ms. */
export const MAX_KEYS = 50_000;
const UNUSUAL_CHARACTER = /[^a-z\d_]/;

/** A JSON body whose keys were watched during its scan. */
interface WatchedBody {
  bytes: Buffer;
  members: readonly Member[];
  mayMislead?: boolean;
}

/** Quick check whether a body may have a misleading key. It may report false positives, but misses nothing. */
export function mayMislead({ bytes, members, mayMislead: keysMayMislead }: WatchedBody): boolean {
  if (members.length === 0) return false;
  // A body whose keys were watched is UTF-8.
  return keysMayMislead === true || hasOddKeys(members) || (keysMayMislead === undefined && !isUtf8(bytes));
}

/**
 * The first key of a JSON body that is a duplicate, or that some decoders read as a known field. Throws JsonSyntaxError
 * for a key with bad escapes.
 */
export const findMisleadingKey = (bytes: Buffer): MisleadingKey | undefined => new KeyComparison(bytes).run();

/** Whether a decoder may read a key as a known name that it isn't. */
const isOdd = (key: string): boolean => UNUSUAL_CHARACTER.test(key) && NAMES.has(foldKey(key));

function hasOddKeys(members: readonly Member[]): boolean {
  const keys = new Set(members.map(({ key }) => key));
  return keys.size < members.length || members.some(({ key }) => isOdd(key));
}

class KeyComparison {
  readonly #bytes: Buffer;
  /** The keys and indexes of the path to the current value. */
  readonly #place: (string | number)[] = [];
  #misleading: MisleadingKey | undefined;
  #left = MAX_KEYS;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  run(): MisleadingKey | undefined {
    this.#walk(skipSpace(this.#bytes, this.#bytes[0] === 0xef ? 3 : 0), false);
    return this.#misleading;
  }

  /** `isOwn`: the value is inside user data. Returns the end of the value. */
  #walk(start: number, isOwn: boolean): number {
    const bytes = this.#bytes;
    const first = bytes[start];
    if (this.#misleading || (first !== OPEN_BRACE && first !== OPEN_BRACKET)) return skipValue(bytes, start);
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
    if (this.#misleading) return;
    if (--this.#left < 0) this.#misleading = { path: '', name: undefined };
    else if (seen.has(key)) this.#misleading = { path: this.#path(), name: undefined };
    seen.add(key);
    if (!isOwn && isOdd(key)) this.#misleading ??= { path: this.#path(), name: foldKey(key) };
  }

  #path(): string {
    return this.#place.reduce<string>(
      (path, each) =>
        typeof each === 'number' ? `${path}[${each}]` : path === '' ? each : `${path}.${each}`,
      '',
    );
  }
}
