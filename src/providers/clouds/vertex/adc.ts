import { createBearer } from '../bearer.ts';
import type { Signer } from '../cloud.ts';
import { loadPackages } from '../renewing.ts';

export const GOOGLE_PACKAGES = 'google-auth-library';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';

/** Application Default Credentials: https://cloud.google.com/docs/authentication/application-default-credentials */
export function createAdc(projectId: string): Signer {
  let client: Promise<TokenClient> | undefined;
  return createBearer(
    async (isForced) => {
      if (isForced) client = undefined;
      client ??= open(projectId);
      try {
        const auth = await client;
        const { token } = await auth.getAccessToken();
        if (!token) throw new Error('Google returned no token');
        return { value: token, expiresAt: auth.credentials.expiry_date ?? undefined };
      } catch (error) {
        client = undefined;
        throw error;
      }
    },
    (reason) =>
      `no Google Cloud credentials: ${reason}. Run: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS where gw is started`,
  );
}

interface TokenClient {
  getAccessToken(): Promise<{ token?: string | null | undefined }>;
  credentials: { expiry_date?: number | null | undefined };
}

/** With a project, so that Google isn't asked for that of the credentials. */
async function open(projectId: string): Promise<TokenClient> {
  const { GoogleAuth } = await loadPackages(() => import('google-auth-library'), GOOGLE_PACKAGES);
  return new GoogleAuth({ scopes: SCOPE, projectId }).getClient();
}
