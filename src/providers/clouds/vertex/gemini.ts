import { OPEN_BRACE, OPEN_BRACKET, type Range } from '../../../json/bytes.ts';
import { applyEdits, type Edit, moved, removeElements, removeMember } from '../../../json/edit.ts';
import { JsonSyntaxError, type Member, scanArray, scanObject } from '../../../json/scan.ts';
import { innerRequest } from '../../gemini-count.ts';
import type { CloudRequest } from '../cloud.ts';

/**
 * A request of Gemini's API as Vertex AI takes it: names without `google/`, calls and results without ids, and counts
 * without a request around what is counted.
 */
export function ofPublisher(request: CloudRequest): CloudRequest {
  const path = request.path.replace('/models/google%2F', '/models/');
  const { body } = request;
  if (!body) return { ...request, path };
  try {
    const plain = path.endsWith(':countTokens') ? countedOf(body) : body;
    return { ...request, path, body: applyEdits(plain, callIds(plain)) };
  } catch (error) {
    // Invalid JSON is Google's to refuse.
    if (error instanceof JsonSyntaxError) return { ...request, path };
    throw error;
  }
}

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens */
const COUNTED: ReadonlySet<string> = new Set(['contents', 'systemInstruction', 'tools', 'generationConfig']);

function countedOf(body: Buffer): Buffer {
  const request = innerRequest(body, scanObject(body))?.text ?? body;
  const members = scanObject(request).map(({ key, keyStart, end }) => ({ key, start: keyStart, end }));
  return applyEdits(
    request,
    removeElements(members, ({ key }) => !COUNTED.has(key)),
  );
}

const ID = Buffer.from('"id"');

/**
 * The edits that remove the ids of calls and results. Vertex AI goes by name and order, and refuses ids as unknown fields:
 * https://github.com/vercel/ai/issues/15664, https://github.com/pydantic/pydantic-ai/issues/5081
 */
function callIds(body: Buffer): Edit[] {
  if (!body.includes(ID)) return [];
  return elementsOf(body, memberOf(body, /^contents$/)).flatMap((content) => {
    const text = body.subarray(content.start, content.end);
    return elementsOf(text, memberOf(text, /^parts$/)).flatMap((part) =>
      idsIn(text.subarray(part.start, part.end)).map((edit) => moved(edit, content.start + part.start)),
    );
  });
}

function idsIn(part: Buffer): Edit[] {
  const call = memberOf(part, /^function_?(?:call|response)$/i);
  if (!call || part[call.start] !== OPEN_BRACE) return [];
  const members = scanObject(part.subarray(call.start, call.end));
  const id = members.find(({ key }) => key === 'id');
  return id ? [moved(removeMember(members, id), call.start)] : [];
}

/** Undefined also for what is no object. */
function memberOf(bytes: Buffer, name: RegExp): Member | undefined {
  return bytes[0] === OPEN_BRACE ? scanObject(bytes).find(({ key }) => name.test(key)) : undefined;
}

const elementsOf = (bytes: Buffer, list: Range | undefined): Range[] =>
  list && bytes[list.start] === OPEN_BRACKET ? scanArray(bytes, list.start) : [];
