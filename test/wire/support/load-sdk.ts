/**
 * Loads a client library; undefined when it is not installed, and its tests are skipped. `T` declares what the test
 * uses, so that the test is type-checked without the library.
 */
export async function loadSdk<T>(name: string): Promise<T | undefined> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    if (
      /ERR_MODULE_NOT_FOUND|Cannot find|Failed to (load|resolve)|does the file exist/i.test(String(error))
    ) {
      console.warn(`${name} is not installed; its tests are skipped. To run them: npm install -D ${name}`);
      return undefined;
    }
    throw error;
  }
}
