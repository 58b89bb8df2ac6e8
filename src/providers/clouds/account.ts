import { messageOf } from '../../errors.ts';
import { azureAccount } from './azure/azure.ts';
import { AZURE_PACKAGES } from './azure/entra.ts';
import { bedrockAccount } from './bedrock/bedrock.ts';
import { AWS_PACKAGES } from './bedrock/sigv4.ts';
import type { CloudAccount, CloudOptions } from './cloud.ts';
import { loadPackages } from './renewing.ts';
import { GOOGLE_PACKAGES } from './vertex/adc.ts';
import { vertexAccount } from './vertex/vertex.ts';

const ACCOUNTS = { azure: azureAccount, bedrock: bedrockAccount, vertex: vertexAccount };

export type CloudKind = keyof typeof ACCOUNTS;

const PACKAGES: Readonly<Record<CloudKind, { load(): Promise<unknown>; names: string }>> = {
  azure: { load: () => import('@azure/identity'), names: AZURE_PACKAGES },
  bedrock: { load: () => import('@aws-sdk/credential-provider-node'), names: AWS_PACKAGES },
  vertex: { load: () => import('google-auth-library'), names: GOOGLE_PACKAGES },
};

/** What to install for a cloud's own credentials; undefined if it is there. */
export async function missingPackages(kind: CloudKind): Promise<string | undefined> {
  const { load, names } = PACKAGES[kind];
  return loadPackages(load, names).then(() => undefined, messageOf);
}

export const isCloud = (kind: string | undefined): kind is CloudKind =>
  kind !== undefined && Object.hasOwn(ACCOUNTS, kind);

/**
 * Clouds by their settings: one account stays the same object, with its credentials, while other settings change. A text
 * instead says why there is no account.
 */
export type CloudAccounts = (kind: CloudKind, options: CloudOptions) => CloudAccount | string;

export function createCloudAccounts(): CloudAccounts {
  const known = new Map<string, CloudAccount | string>();
  return (kind, options) => {
    const name = JSON.stringify([kind, options]);
    const account = known.get(name) ?? ACCOUNTS[kind](options);
    known.set(name, account);
    return account;
  };
}
