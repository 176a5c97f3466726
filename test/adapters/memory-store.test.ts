import { objectStoreContract } from '../contracts/object-store.ts';
import { memoryStore } from '../fakes/memory-store.ts';

objectStoreContract('the memory store', async () => {
  const store = memoryStore();
  return { open: () => store, close: async () => {} };
});
