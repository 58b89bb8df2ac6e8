import { objectsIn } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import type { Json } from '../../translation/json.ts';
import { plainSchema } from '../../translation/repair/schemas.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import { isLarge } from '../intake/scan-large.ts';

/**
 * Whether a chat completion request breaks a law that its provider has beside the API's document, so that it has to be
 * written anew. Reads the members that such a law is about. A large body may break one: it is written in a thread.
 */
export function breaksLaw(
  { bytes, members }: Pick<WireRequest, 'bytes' | 'members'>,
  dialect: Dialect,
): boolean {
  const { refuses, maxStops, onlyAutoTools, plainSchemas, strictTools, systemFirst, userBehindTool } =
    dialect;
  const read = (name: string): unknown => {
    const member = members.find(({ key }) => key === name);
    return member && readValue(bytes, member);
  };
  if (refuses?.some((field) => members.some(({ key }) => key === field))) return true;
  const stops = maxStops === undefined ? undefined : read('stop');
  if (Array.isArray(stops) && stops.length > (maxStops ?? 0)) return true;
  if (onlyAutoTools && !AUTO.has(read('tool_choice'))) return true;
  if (dialect.reasoning === 'refused' && bytes.includes(REASONING)) return true;
  const hasOrder = systemFirst || userBehindTool === false;
  const hasTools = plainSchemas || strictTools === false;
  if (isLarge(bytes) && (hasOrder || hasTools)) return true;
  if (hasTools && objectsIn(read('tools')).some((tool) => !takesTool(tool, dialect))) return true;
  return Boolean(hasOrder) && !isInOrder(objectsIn(read('messages')), dialect);
}

const REASONING = Buffer.from('"reasoning_content"');

const AUTO: ReadonlySet<unknown> = new Set([undefined, null, 'auto']);

function takesTool({ function: fn }: Json, { plainSchemas, strictTools }: Dialect): boolean {
  const [{ strict, parameters } = {} as Json] = objectsIn([fn]);
  if (strict === true && strictTools === false) return false;
  const [schema] = objectsIn([parameters]);
  return !plainSchemas || !schema || JSON.stringify(plainSchema(schema)) === JSON.stringify(schema);
}

function isInOrder(messages: readonly Json[], { systemFirst, userBehindTool }: Dialect): boolean {
  return messages.every(({ role }, i) => {
    if (systemFirst && i > 0 && (role === 'system' || role === 'developer')) return false;
    return !(userBehindTool === false && role === 'user' && messages[i - 1]?.role === 'tool');
  });
}
