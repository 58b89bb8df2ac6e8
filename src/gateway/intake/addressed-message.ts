import { applyEdits, insertMember, removeElements } from '../../json/edit.ts';
import { JsonSyntaxError, readValue, scanObject } from '../../json/scan.ts';
import { headerOf } from '../../raw-headers.ts';
import type { Addressed, Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';

/** Fields that Anthropic's own API has in the path, in headers, or not at all. */
const FIELDS: ReadonlySet<string> = new Set(['model', 'stream', 'anthropic_version', 'anthropic_beta']);

/**
 * The body of a client of a cloud's API as Anthropic's API has it: with the model of its path, at an account of that
 * cloud if there is one, and its betas in the header. Nothing else changes.
 */
export function plainMessage(
  gateway: Pick<Gateway, 'providers' | 'settings'>,
  addressed: Addressed,
  request: Exchange['request'],
  bytes: Buffer,
): Buffer {
  try {
    const members = scanObject(bytes);
    const beta = members.find(({ key }) => key === 'anthropic_beta');
    const betas = beta && readValue(bytes, beta);
    if (Array.isArray(betas)) addHeader(request, 'anthropic-beta', betas.join(','));
    const removed = members.map(({ key, keyStart, end }) => ({ key, start: keyStart, end }));
    return applyEdits(bytes, [
      insertMember(members, 'model', JSON.stringify(nameAt(gateway, addressed))),
      ...(addressed.isStream ? [insertMember(members, 'stream', 'true')] : []),
      ...removeElements(removed, ({ key }) => FIELDS.has(key)),
    ]);
  } catch (error) {
    // The parser says what is wrong.
    if (error instanceof JsonSyntaxError) return bytes;
    throw error;
  }
}

function nameAt(
  { providers, settings }: Pick<Gateway, 'providers' | 'settings'>,
  { cloud, model }: Addressed,
): string {
  if (Object.hasOwn(settings().aliases, model)) return model;
  const account = [...providers().values()].find(({ knownAs }) => knownAs === cloud);
  return account && !providers().has(model.split('/')[0] ?? '') ? `${account.name}/${model}` : model;
}

function addHeader(request: Exchange['request'], name: string, value: string): void {
  const sent = headerOf(
    request.rawHeaders.map((each, i) => (i % 2 === 0 ? each.toLowerCase() : each)),
    name,
  );
  if (sent !== undefined) return;
  request.headers[name] = value;
  request.rawHeaders.push(name, value);
}
