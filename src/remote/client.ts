import { isObject } from '../json/object.ts';
import type { Network } from '../network/network.ts';
import { isOlder, VERSION } from '../version.ts';
import { connectionFailure, faultOf, notGateway, refusal, tooNew, tooOld, unknownPath } from './failures.ts';
import { type Answer, createSend, type RemoteRequest, type Send } from './send.ts';
import type { RemoteGateway } from './target.ts';

/**
 * Makes one request to gw's own API and returns the parsed body of the answer. Throws GwError: the server's own, or one
 * whose message says what is wrong with the URL, the key, the network or the versions. Its code is `server_unreachable`
 * if no gw answers.
 */
export type AskRemote = (request: RemoteRequest) => Promise<unknown>;

export interface RemoteOptions {
  /** Loaded at the first request. */
  network(): Promise<Network>;
  /** Limit of one request. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

/** The oldest version with the paths under `/v1/gw`. Within a major version, they only gain fields. */
const OLDEST = '0.2.0';

/**
 * Connects to a remote gw at the first request. Asks `/health` before anything else: whatever answers there and is not
 * a gw of a known version does not get the key.
 */
export function connectRemote(
  { url, key }: Pick<RemoteGateway, 'url' | 'key'>,
  { network, timeoutMs = TIMEOUT_MS }: RemoteOptions,
): AskRemote {
  let send: Promise<Send> | undefined;
  let checked: Promise<string> | undefined;

  async function exchange(request: RemoteRequest, headers: Record<string, string> = {}): Promise<Answer> {
    try {
      send ??= network().then((ways) => createSend(url, ways, timeoutMs));
      return await (await send)(request, headers);
    } catch (error) {
      throw connectionFailure(error, { url, network: await network(), timeoutMs });
    }
  }

  /** The server's version. */
  async function check(): Promise<string> {
    const answer = await exchange({ path: '/health' });
    const version = versionOf(answer);
    if (version === undefined) throw notGateway(url, answer);
    if (Number.parseInt(version, 10) > Number.parseInt(VERSION, 10)) throw tooNew(url, version);
    // A build between two releases has the version of the last one.
    if (version !== VERSION && isOlder(version, OLDEST)) throw tooOld(url, version, OLDEST);
    return version;
  }

  return async (request) => {
    checked ??= check();
    const version = await checked;
    const answer = await exchange(request, { authorization: `Bearer ${key}` });
    if (answer.status >= 200 && answer.status < 300 && answer.json !== undefined) return answer.json;
    const fault = faultOf(answer);
    if (fault === undefined) throw notGateway(url, answer);
    if (fault.code === 'unknown_endpoint') throw unknownPath(url, version, request.path);
    throw refusal(url, fault);
  };
}

/** The version that the `/health` of a gw reports. */
function versionOf({ json }: Answer): string | undefined {
  const { version, instance_id } = isObject(json) ? json : {};
  if (typeof version !== 'string' || typeof instance_id !== 'string') return undefined;
  return /^\d+\.\d+\.\d+/.test(version) ? version : undefined;
}
