/** Walks over an array with a stride, as walk.cpp does.
 *
 *      javac Walk.java
 *      java Walk 65536 64
 */
public class Walk {
  static final int ACCESSES = 10_000_000;

  public static void main(String[] arguments) {
    final byte[] x = new byte[Integer.parseInt(arguments[0])];
    final int stride = Integer.parseInt(arguments[1]);
    final long start = System.nanoTime();
    walk(x, stride);
    final double time = System.nanoTime() - start;
    System.out.printf("%.3f ns per access%n", time / ACCESSES);
  }

  static void walk(byte[] x, int stride) {
    for (int access = 0, i = 0; access < ACCESSES; access++) {
      x[i]++;
      i = i + stride < x.length ? i + stride : 0;
    }
  }
}
