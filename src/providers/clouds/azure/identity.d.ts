/** What gw uses of the package. Its 46 MB are installed for tests alone. */
declare module '@azure/identity' {
  export class DefaultAzureCredential {
    getToken(scope: string): Promise<{ token: string; expiresOnTimestamp: number }>;
  }
}
