import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { AwsCredentialIdentity, SourceData } from '@smithy/types';
import type { Signer } from '../cloud.ts';
import { loadPackages, renewing } from '../renewing.ts';

export interface SigV4Options {
  region: string;
  /** https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html */
  service: 'bedrock' | 'bedrock-mantle';
  /** Of the files in `~/.aws`; undefined for AWS's default chain. */
  profile: string | undefined;
}

export const AWS_PACKAGES = '@aws-sdk/credential-provider-node @smithy/signature-v4';

/** Headers of another signature, as a client of AWS sends them. */
const FOREIGN = new Set(['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256']);

/** Words for credentials that are over, or not the current ones: https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html */
const EXPIRED =
  /expiredtoken|security token included in the request is (?:expired|invalid)|token has expired|unrecognizedclient/i;

/**
 * Signs by Signature Version 4 with the credentials of AWS's chain: environment, profile, SSO, web identity, container,
 * instance, `credential_process`.
 */
export function createSigV4({ region, service, profile }: SigV4Options): Signer {
  let chain: Promise<Chain> | undefined;
  const source = renewing<AwsCredentialIdentity>(
    async (isForced) => {
      chain ??= chainOf(profile).catch((error) => {
        chain = undefined;
        throw error;
      });
      const identity = await (await chain)({ forceRefresh: isForced });
      return { value: identity, expiresAt: identity.expiration?.getTime() };
    },
    (reason) => withoutCredentials(profile, reason),
  );
  const used = new WeakMap<readonly string[], AwsCredentialIdentity>();
  return {
    async sign({ method, origin, path, headers, body }) {
      const credentials = await source.get();
      const { SignatureV4 } = await import('@smithy/signature-v4');
      // The path is encoded once in the address, and once more in what is signed.
      const signer = new SignatureV4({ region, service, credentials, sha256: Sha256, uriEscapePath: true });
      const { hostname, host, protocol } = new URL(origin);
      const [pathname = '', query = ''] = path.split('?');
      const signed = await signer.sign({
        method,
        protocol,
        hostname,
        path: pathname,
        query: Object.fromEntries(new URLSearchParams(query)),
        headers: { host, ...amazonHeaders(headers) },
        body: body ?? undefined,
      });
      const { host: _, ...added } = signed.headers;
      const flat = Object.entries(added).flat();
      used.set(flat, credentials);
      return flat;
    },
    hasExpired(status, body, signed) {
      if ((status !== 401 && status !== 403) || !EXPIRED.test(body)) return false;
      const credentials = used.get(signed);
      if (credentials) source.drop(credentials);
      return true;
    },
    expiresAt: source.expiresAt,
  };
}

type Chain = (options: { forceRefresh: boolean }) => Promise<AwsCredentialIdentity>;

async function chainOf(profile: string | undefined): Promise<Chain> {
  const { defaultProvider } = await loadPackages(async () => {
    await import('@smithy/signature-v4');
    return import('@aws-sdk/credential-provider-node');
  }, AWS_PACKAGES);
  return defaultProvider(profile === undefined ? {} : { profile });
}

function withoutCredentials(profile: string | undefined, reason: string): string {
  if (profile === undefined)
    return `no AWS credentials in the environment or the default profile: ${reason}. Run: aws sso login, or name a profile: gw providers add bedrock --profile P`;
  return `no AWS credentials of profile ${profile}: ${reason}. Run: aws sso login --profile ${profile}`;
}

/** The headers that AWS wants signed: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html */
function amazonHeaders(headers: readonly string[]): Record<string, string> {
  const signed: Record<string, string> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (name === 'content-type' || (name.startsWith('x-amz') && !FOREIGN.has(name))) signed[name] = value;
  }
  return signed;
}

/** Node's SHA-256 in the form that the package wants. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: SourceData) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(secret));
  }

  update(data: SourceData): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
}

function bytesOf(data: SourceData): string | Uint8Array {
  if (typeof data === 'string') return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
