import { applyEdits, insertMember, removeElements, replaceValue } from '../../json/edit.ts';
import { JsonSyntaxError, readValue, scanObject } from '../../json/scan.ts';
import { makersName } from '../../pricing/deployments.ts';
import { headerOf } from '../../raw-headers.ts';
import type { Exchange } from '../context/exchange.ts';
import type { Gateway } from '../context/gateway.ts';

/** A messages request in the envelope of a cloud's API. */
export interface Addressed {
  cloud: 'azure' | 'bedrock' | 'vertex';
  /** Of the path; undefined if the body names it, and says whether the answer is a stream. */
  path?: { model: string; isStream: boolean };
}

/** Fields that Anthropic's own API has in the path, in headers, or not at all. */
const FIELDS: ReadonlySet<string> = new Set(['model', 'anthropic_version', 'anthropic_beta']);

/**
 * The body of a client of a cloud's API as Anthropic's API has it: with the model of its path, at an account of that
 * cloud if there is one, and its betas in the header. Nothing else changes.
 */
export function plainMessage(
  gateway: Pick<Gateway, 'providers' | 'settings'>,
  { cloud, path }: Addressed,
  request: Exchange['request'],
  bytes: Buffer,
): Buffer {
  try {
    const members = scanObject(bytes);
    const read = (name: string) => {
      const member = members.find(({ key }) => key === name);
      return member && readValue(bytes, member);
    };
    const betas = read('anthropic_beta');
    if (Array.isArray(betas)) addHeader(request, 'anthropic-beta', betas.join(','));
    const model = path?.model ?? read('model');
    // The parser says what is wrong.
    if (typeof model !== 'string') return bytes;
    const removed = members.map(({ key, keyStart, end }) => ({ key, start: keyStart, end }));
    return applyEdits(bytes, [
      insertMember(members, 'model', JSON.stringify(nameAt(gateway, cloud, model))),
      ...(path?.isStream ? [insertMember(members, 'stream', 'true')] : []),
      ...removeElements(removed, ({ key }) => FIELDS.has(key) || (path !== undefined && key === 'stream')),
    ]);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return bytes;
    throw error;
  }
}

/** A body for a deployment of Azure, which its path names. */
export function deployedBody(
  gateway: Pick<Gateway, 'providers' | 'settings'>,
  deployment: string,
  bytes: Buffer,
): Buffer {
  try {
    const members = scanObject(bytes);
    const name = JSON.stringify(nameAt(gateway, 'azure', deployment));
    const model = members.find(({ key }) => key === 'model');
    return applyEdits(bytes, [model ? replaceValue(model, name) : insertMember(members, 'model', name)]);
  } catch (error) {
    // The parser says what is wrong.
    if (error instanceof JsonSyntaxError) return bytes;
    throw error;
  }
}

/** The model at an account of the cloud; without one, by the name that its maker has for it. */
export function nameAt(
  { providers, settings }: Pick<Gateway, 'providers' | 'settings'>,
  cloud: Addressed['cloud'],
  model: string,
): string {
  const isNamed = Object.hasOwn(settings().aliases, model) || providers().has(model.split('/')[0] ?? '');
  if (isNamed) return model;
  // Foundry and Bedrock have the messages API at the same path.
  const owner = /^(?:[a-z-]+\.)?anthropic\./.test(model) ? 'bedrock' : cloud;
  const account = [...providers().values()].find(({ knownAs }) => knownAs === owner);
  return account ? `${account.name}/${model}` : makersName(model);
}

/**
 * AWS's SDKs send the body of InvokeModel as bytes, whose type is JSON, whatever its header says:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html,
 * https://smithy.io/2.0/spec/http-bindings.html (httpPayload)
 */
export function setJsonType({ headers, rawHeaders }: Exchange['request']): void {
  const type = headers['content-type'];
  if (type !== undefined && type !== 'application/octet-stream') return;
  headers['content-type'] = 'application/json';
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'content-type');
  rawHeaders.splice(at < 0 ? rawHeaders.length : at, 2, 'content-type', 'application/json');
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
