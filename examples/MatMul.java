/** Multiplies two matrices of doubles, as mm.cpp does: javac MatMul.java; java MatMul line 600 */
public class MatMul {
  public static void main(String[] arguments) {
    final int n = Integer.parseInt(arguments[1]);
    final double[] a = new double[n * n], b = new double[n * n], c = new double[n * n];
    java.util.Arrays.fill(a, 1);
    java.util.Arrays.fill(b, 2);
    final long start = System.nanoTime();
    if (arguments[0].equals("simple")) simple(a, b, c, n);
    else line(a, b, c, n);
    final double time = (System.nanoTime() - start) * 1e-9;
    System.out.printf("%.3f s, %.2f GFLOP/s%n", time, 2e-9 * n * n * n / time);
  }

  static void simple(double[] a, double[] b, double[] c, int n) {
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
          sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
  }

  static void line(double[] a, double[] b, double[] c, int n) {
    for (int i = 0; i < n; i++)
      for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
          c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}
