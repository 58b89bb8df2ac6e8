import { badRequest, GwError } from '../../errors.ts';
import type { Range } from '../../json/bytes.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import { toolItems } from '../../translation/apis/responses/tool-names.ts';
import { isTurnId } from '../../translation/carry/item-memory.ts';
import type { BodyOptions } from '../../translation/context.ts';
import type { Json } from '../../translation/json.ts';
import { type Route, type TranslatedBody, translateBody, wireOf } from '../../translation/translate.ts';
import { chatWire } from '../../wire/apis/chat.ts';
import { completionsWire } from '../../wire/apis/completions.ts';
import { embeddingsWire } from '../../wire/apis/embeddings.ts';
import { geminiWire } from '../../wire/apis/gemini.ts';
import { geminiEmbeddingsWire } from '../../wire/apis/gemini-embeddings.ts';
import { messagesWire } from '../../wire/apis/messages.ts';
import { compactWire, responsesWire } from '../../wire/apis/responses.ts';
import type { UnknownInput } from '../../wire/request/prompt-block.ts';
import { type BodyScan, scanBody } from '../../wire/request/scan/body-scan.ts';
import { normalizationGrowth, rewriteGrowth } from '../../wire/request/text-growth.ts';
import { answerCalls } from '../../worker-calls.ts';

/** A task and its body. */
export type ScanRequest = { bytes: Uint8Array } & (
  | { task: 'letters' }
  /** The path of the API whose requests are scanned; undefined for one that gw passes through. */
  | { task: 'scan'; path: string | undefined }
  | { task: 'measure'; path: string; json: readonly Range[] | undefined }
  | { task: 'translate'; route: Route; options: BodyOptions; recalled: ReadonlyMap<string, Json> | undefined }
);

/**
 * A translated body with its scan, and the ids of turns that it may lack; or nothing but the ids of the stored items, without
 * which it can't be translated.
 */
type ThreadTranslation = { asked: string[] } & (Translated | { bytes?: undefined });
type Translated = TranslatedBody & { scan: BodyScan };

interface Measured {
  /** Tokens by which the body's text can exceed its bytes, and its JSON if a template writes it anew. */
  growth: number;
  rewritten: number;
  /** Input that its bytes don't bound. */
  unseen: UnknownInput | undefined;
}

/** `bytes`: the body with plain letters. `scan`: what was found. `refused`: a GwError. */
export type ScanAnswer =
  | { bytes: Uint8Array }
  | { scan: BodyScan }
  | { translation: ThreadTranslation }
  | { measured: Measured }
  | { refused: Pick<GwError, 'message' | 'status' | 'type' | 'code'> & { param: string | undefined } };

const WIRES = [
  chatWire,
  completionsWire,
  embeddingsWire,
  geminiEmbeddingsWire,
  geminiWire,
  messagesWire,
  responsesWire,
  compactWire,
];

/** The worker thread of `scan-large.ts`. */
answerCalls((request: ScanRequest): ScanAnswer => {
  const { buffer, byteOffset, length } = request.bytes;
  try {
    return answerTo(request, Buffer.from(buffer, byteOffset, length));
  } catch (error) {
    if (!(error instanceof GwError)) throw error;
    const { message, status, type, code, param } = error;
    return { refused: { message, status, type, code, param: param ?? undefined } };
  }
});

const wireAt = (path: string | undefined) => WIRES.find((wire) => wire.path === path);

function answerTo(request: ScanRequest, bytes: Buffer): ScanAnswer {
  switch (request.task) {
    case 'letters':
      return { bytes: withPlainLetters(bytes) };
    case 'measure': {
      const wire = wireAt(request.path);
      const unseen = wire?.unseenIn(wire.parse(bytes));
      const rewritten = rewriteGrowth(bytes, request.json);
      return { measured: { growth: normalizationGrowth(bytes), rewritten, unseen } };
    }
    case 'scan':
      return { scan: wireAt(request.path)?.scan(bytes) ?? scanBody(bytes, undefined) };
    case 'translate':
      return { translation: translate(bytes, request) };
  }
}

/** More stored items than a client refers to, each of which is read in the main thread. */
const MAX_RECALLED = 1_000;

function translate(
  body: Buffer,
  { route, options, recalled }: Extract<ScanRequest, { task: 'translate' }>,
): ThreadTranslation {
  const asked: string[] = [];
  const turns: string[] = [];
  const recall = (id: string) => {
    if (recalled) return recalled.get(id);
    if (isTurnId(id)) {
      if (turns.length < MAX_RECALLED) turns.push(id);
      return undefined;
    }
    if (asked.push(id) > MAX_RECALLED)
      throw badRequest(`the request refers to more than ${MAX_RECALLED} stored items: send them instead`);
    return PLACEHOLDER;
  };
  const translated = translateBody(body, route, options, { recall });
  if (asked.length > 0) return { asked: [...asked, ...turns] };
  const request = repeatable(translated.request);
  return { ...translated, request, asked: turns, scan: wireOf(route.to, route.from).scan(translated.bytes) };
}

const PLACEHOLDER: Json = { type: 'message', role: 'user', content: '' };

/** What answers repeat of a large request, and the lists that name its tools: only as much as the main thread can take. */
function repeatable({ input, messages: _messages, ...request }: Json): Json {
  const named = { ...request, input: toolItems(input) };
  return JSON.stringify(named).length <= MAX_REPEATED ? named : {};
}

const MAX_REPEATED = 256 * 1024;
