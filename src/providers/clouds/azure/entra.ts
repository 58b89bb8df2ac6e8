import type { DefaultAzureCredential } from '@azure/identity';
import { createBearer } from '../bearer.ts';
import type { Signer } from '../cloud.ts';
import { loadPackages } from '../renewing.ts';

export const AZURE_PACKAGES = '@azure/identity';

/**
 * What a token is for. Clouds of governments refuse one of the public cloud:
 * https://learn.microsoft.com/azure/foundry/foundry-models/how-to/configure-entra-id,
 * https://learn.microsoft.com/dotnet/api/azure.ai.openai.azureopenaiaudience
 */
function scopeAt({ hostname }: URL): string {
  const [cloud] = /(?<=\.azure\.)(?:us|cn)$/.exec(hostname) ?? [];
  return cloud ? `https://cognitiveservices.azure.${cloud}/.default` : 'https://ai.azure.com/.default';
}

/** Tokens of Entra ID by Azure's default chain: environment, workload and managed identity, Azure CLI. */
export function createEntra(baseUrl: string): Signer {
  const scope = scopeAt(new URL(baseUrl));
  let credential: Promise<DefaultAzureCredential> | undefined;
  return createBearer(
    async () => {
      credential ??= open();
      try {
        const { token, expiresOnTimestamp } = await (await credential).getToken(scope);
        return { value: token, expiresAt: expiresOnTimestamp };
      } catch (error) {
        // Packages may be installed, and identities come, while gw runs.
        credential = undefined;
        throw error;
      }
    },
    (reason) => `no token of Entra ID: ${reason}. Run: az login`,
  );
}

async function open(): Promise<DefaultAzureCredential> {
  const { DefaultAzureCredential } = await loadPackages(() => import('@azure/identity'), AZURE_PACKAGES);
  return new DefaultAzureCredential();
}
